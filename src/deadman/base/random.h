#pragma once
// Random: seeded randomness; the same seed gives the same numbers on every platform.
//
// Thread-safety: external synchronization.

#include <cstdint>
#include <string>

namespace deadman::base {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    /// Uniform over all 64-bit values (splitmix64: Steele, Lea, Flood 2014).
    std::uint64_t next();

    /// Uniform in [0, bound). REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound);

    /// Uniform in [0, 1).
    double unit();

    /// True with probability p.
    bool chance(double p);

  private:
    std::uint64_t state_;
};

/// A seed from the operating system, for processes that were not given one.
std::uint64_t random_seed();

/// `bytes` random bytes from the operating system as lower-case hex: names that nobody can guess.
std::string random_hex(std::size_t bytes);

} // namespace deadman::base
