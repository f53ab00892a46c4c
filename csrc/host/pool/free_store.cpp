// SPDX-License-Identifier: Apache-2.0
#include "block.h"

namespace ascend_cy {

FreeStore::Place FreeStore::place_of(size_t bytes) noexcept
{
    if (bytes < steps)
        return {0, 0};
    const unsigned level = 63 - static_cast<unsigned>(__builtin_clzll(bytes)) - steps_log2;
    return {level, static_cast<unsigned>(bytes >> level) & (steps - 1)};
}

void FreeStore::insert(Block *block) noexcept
{
    const Place place = place_of(block->bytes);
    Block *&head = heads_[place.level][place.step];
    block->previous = nullptr;
    block->next = head;
    if (head != nullptr)
        head->previous = block;
    head = block;
    step_bits_[place.level] = static_cast<uint16_t>(step_bits_[place.level] | 1U << place.step);
    level_bits_ |= uint64_t{1} << place.level;
}

void FreeStore::remove(Block *block) noexcept
{
    if (block->next != nullptr)
        block->next->previous = block->previous;
    if (block->previous != nullptr) {
        block->previous->next = block->next;
    } else {
        const Place place = place_of(block->bytes);
        heads_[place.level][place.step] = block->next;
        if (block->next == nullptr) {
            step_bits_[place.level] = static_cast<uint16_t>(step_bits_[place.level] & ~(1U << place.step));
            if (step_bits_[place.level] == 0)
                level_bits_ &= ~(uint64_t{1} << place.level);
        }
    }
    block->next = nullptr;
    block->previous = nullptr;
}

// Moves on to the next class that is not empty, from `place` itself on. False when there is none.
bool FreeStore::next_not_empty(Place *place) const noexcept
{
    if (place->level >= levels)
        return false;
    const unsigned here = step_bits_[place->level] & (~0U << place->step);
    if (here != 0) {
        place->step = static_cast<unsigned>(__builtin_ctz(here));
        return true;
    }
    const uint64_t above = place->level + 1 < 64 ? level_bits_ & (~uint64_t{0} << (place->level + 1)) : 0;
    if (above == 0)
        return false;
    place->level = static_cast<unsigned>(__builtin_ctzll(above));
    place->step = static_cast<unsigned>(__builtin_ctz(step_bits_[place->level]));
    return true;
}

Block *FreeStore::find(size_t bytes, bool exactly, uint64_t up_to_epoch, int look) const noexcept
{
    const Place start = place_of(bytes);
    for (Place place = start; next_not_empty(&place);) {
        if (exactly && (place.level != start.level || place.step != start.step))
            return nullptr;
        Block *best = nullptr;
        int left = look;
        for (Block *block = heads_[place.level][place.step]; block != nullptr && left > 0; block = block->next, --left) {
            const bool fits = exactly ? block->bytes == bytes : block->bytes >= bytes;
            if (fits && block->epoch <= up_to_epoch && (best == nullptr || block->bytes < best->bytes))
                best = block;
        }
        if (best != nullptr)
            return best;
        if (++place.step == steps) {
            place.step = 0;
            ++place.level;
        }
    }
    return nullptr;
}

Block *FreeStore::any() const noexcept
{
    Place place{0, 0};
    return next_not_empty(&place) ? heads_[place.level][place.step] : nullptr;
}

} // namespace ascend_cy
