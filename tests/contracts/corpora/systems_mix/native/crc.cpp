#include "crc.hpp"

#include <array>

namespace packrat {

namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320u;

std::array<std::uint32_t, 256> build_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t entry = byte;
    for (int bit = 0; bit < 8; ++bit) {
      entry = (entry & 1u) ? (entry >> 1) ^ kPolynomial : entry >> 1;
    }
    table[byte] = entry;
  }
  return table;
}

}  // namespace

Crc32::Crc32() : state_(0xFFFFFFFFu) {}

void Crc32::update(const std::uint8_t* data, std::size_t length) {
  static const std::array<std::uint32_t, 256> table = build_table();
  for (std::size_t i = 0; i < length; ++i) {
    state_ = (state_ >> 8) ^ table[(state_ ^ data[i]) & 0xFFu];
  }
}

std::uint32_t Crc32::value() const {
  return state_ ^ 0xFFFFFFFFu;
}

bool verify_checksum(const std::uint8_t* data, std::size_t length, std::uint32_t expected) {
  Crc32 crc;
  crc.update(data, length);
  return crc.value() == expected;
}

}  // namespace packrat
