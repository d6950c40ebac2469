// The two functions of LZ4 that Verilator's FST writer calls, so that waveforms need no library beyond the
// C++ compiler. The output is an LZ4 block: sequences of a token, literals and a back reference, the last
// one of literals only. A hash of four bytes finds the most recent occurrence; nothing cleverer is tried.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

namespace openwmma_lz4 {

constexpr int HASH_BITS = 14;
constexpr int MINIMUM_MATCH = 4;
constexpr int LAST_LITERALS = 5;   // the format's rule: a block ends with at least five literals,
constexpr int LAST_MATCH = 12;     // and no match starts within its last twelve bytes
constexpr int WINDOW = 65535;

inline std::uint32_t load32(const char *bytes) {
    std::uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// A count of 15 and more continues in bytes of up to 255.
inline char *extend(char *out, int count) {
    for (count -= 15; count >= 255; count -= 255) *out++ = static_cast<char>(255);
    *out++ = static_cast<char>(count);
    return out;
}

inline char *sequence(char *out, const char *literals, int count, int offset, int match) {
    const int extra = match - MINIMUM_MATCH;
    const int high = count < 15 ? count : 15;
    const int low = match == 0 ? 0 : extra < 15 ? extra : 15;
    *out++ = static_cast<char>(high << 4 | low);
    if (high == 15) out = extend(out, count);
    if (count != 0) std::memcpy(out, literals, static_cast<std::size_t>(count));
    out += count;
    if (match == 0) return out;
    *out++ = static_cast<char>(offset & 255);
    *out++ = static_cast<char>(offset >> 8);
    return low == 15 ? extend(out, extra) : out;
}

}  // namespace openwmma_lz4

inline int LZ4_compress_default(const char *source, char *destination, int size, int capacity) {
    using namespace openwmma_lz4;
    if (capacity < LZ4_compressBound(size)) return 0;
    std::vector<int> recent(std::size_t(1) << HASH_BITS, -WINDOW - 1);
    char *out = destination;
    int anchor = 0;
    for (int position = 0; position < size - LAST_MATCH;) {
        const std::uint32_t word = load32(source + position);
        int &slot = recent[word * 2654435761U >> (32 - HASH_BITS)];
        const int candidate = slot;
        slot = position;
        if (position - candidate > WINDOW || load32(source + candidate) != word) {
            ++position;
            continue;
        }
        int match = MINIMUM_MATCH;
        while (position + match < size - LAST_LITERALS && source[candidate + match] == source[position + match]) ++match;
        out = sequence(out, source + anchor, position - anchor, position - candidate, match);
        position += match;
        anchor = position;
    }
    out = sequence(out, source + anchor, size - anchor, 0, 0);
    return static_cast<int>(out - destination);
}
