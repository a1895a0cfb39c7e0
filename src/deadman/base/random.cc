#include "deadman/base/random.h"

#include <random>

namespace deadman::base {

std::uint64_t Random::next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
    // Rejection keeps it uniform; the loop ends after two draws on average at worst.
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t value = next();
    while (value >= limit)
        value = next();
    return value % bound;
}

double Random::unit() {
    return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

bool Random::chance(double p) {
    return unit() < p;
}

std::uint64_t random_seed() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
}

std::string random_hex(std::size_t bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::random_device device;
    std::string text;
    text.reserve(bytes * 2);
    for (std::size_t i = 0; i < bytes; ++i) {
        const unsigned value = device() & 0xffU;
        text += digits[value >> 4];
        text += digits[value & 15U];
    }
    return text;
}

} // namespace deadman::base
