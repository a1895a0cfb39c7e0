#include <cstdio>

int main() {
    std::puts("deadman " DEADMAN_VERSION);
    return 0;
}
