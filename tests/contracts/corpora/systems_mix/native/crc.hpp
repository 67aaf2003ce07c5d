#pragma once

#include <cstddef>
#include <cstdint>

namespace packrat {

/// Computes CRC-32 checksums of chunks.
class Crc32 {
 public:
  Crc32();
  void update(const std::uint8_t* data, std::size_t length);
  std::uint32_t value() const;

 private:
  std::uint32_t state_;
};

bool verify_checksum(const std::uint8_t* data, std::size_t length, std::uint32_t expected);

}  // namespace packrat
