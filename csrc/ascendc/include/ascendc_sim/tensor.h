// SPDX-License-Identifier: Apache-2.0
//
// LocalTensor, GlobalTensor and the allocator of the static-tensor style.
#ifndef ASCENDC_SIM_TENSOR_H
#define ASCENDC_SIM_TENSOR_H

#include "core.h"

namespace AscendC {

using sim::Where;
using TBufType = sim::Buffer;
using TBufHandle = sim::Buffer *;
using TTagType = int32_t;

template <class T> class LocalTensor;

namespace sim {

// `dst = a + b` on whole tensors: remembers the operation until its destination is known.
template <class T> struct TensorExpression {
    enum class Op { kAdd, kSub, kMul, kDiv, kOr, kAnd, kCompare };
    Op op;
    CMPMODE compare;
    const LocalTensor<T> &left;
    const LocalTensor<T> &right;
};
template <class T, class U> void Assign(const LocalTensor<T> &dst, const TensorExpression<U> &expression);

// A scalar in on-chip memory: reading and writing it are accesses of the scalar unit.
template <class T> class LocalElement {
public:
    LocalElement(T *address, Where where) : address_(address), where_(where) {}
    operator T() const
    {
        Core &core = Core::Current();
        core.Begin("LocalTensor::operator()", Pipe::S, where_);
        core.ScalarRead(address_, sizeof(T));
        return *address_;
    }
    const LocalElement &operator=(T value) const
    {
        Core &core = Core::Current();
        core.Begin("LocalTensor::operator()", Pipe::S, where_);
        core.ScalarWrite(address_, sizeof(T));
        *address_ = value;
        return *this;
    }
    const LocalElement &operator=(const LocalElement &other) const { return *this = static_cast<T>(other); }
    const LocalElement &operator+=(T value) const { return *this = static_cast<T>(T(*this) + value); }
    const LocalElement &operator-=(T value) const { return *this = static_cast<T>(T(*this) - value); }

private:
    T *address_;
    Where where_;
};

} // namespace sim

template <class T> class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(TPosition position, uint32_t address, uint32_t count, Where where = Where::Here())
    {
        CreateTensor(position, address, count, where);
    }
    explicit LocalTensor(uint32_t address, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        CreateTensor(TPosition::VECCALC, address,
                     static_cast<uint32_t>((core.MemoryOf(TPosition::VECCALC).capacity() - address) / sizeof(T)), where);
    }

    // --- made by queues, buffers and allocators
    static LocalTensor Over(uint8_t *address, uint32_t bytes, TPosition position, sim::Buffer *buffer = nullptr)
    {
        LocalTensor tensor;
        tensor.address_ = address;
        tensor.bytes_ = bytes;
        tensor.position_ = position;
        tensor.buffer_ = buffer;
        return tensor;
    }

    T GetValue(uint32_t index, Where where = Where::Here()) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("LocalTensor::GetValue", sim::Pipe::S, where);
        CheckIndex(core, index);
        core.ScalarRead(Element(index), sizeof(T));
        return *Element(index);
    }
    template <class S> void SetValue(uint32_t index, S value, Where where = Where::Here()) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("LocalTensor::SetValue", sim::Pipe::S, where);
        CheckIndex(core, index);
        core.ScalarWrite(Element(index), sizeof(T));
        *Element(index) = static_cast<T>(value);
    }
    sim::LocalElement<T> operator()(uint32_t index, Where where = Where::Here()) const
    {
        CheckIndex(sim::Core::Current(), index);
        return sim::LocalElement<T>(Element(index), where);
    }
    LocalTensor operator[](uint32_t offset) const
    {
        LocalTensor view = *this;
        const uint64_t bytes = static_cast<uint64_t>(offset) * sizeof(T);
        if (unlikely(bytes > bytes_)) {
            sim::Core &core = sim::Core::Current();
            if (core.checks()) {
                core.Begin("LocalTensor::operator[] (after the call of the line named here)", core.where());
                core.Fail("offset %u lies beyond the tensor's %u elements", offset, GetSize());
            }
        }
        view.address_ += bytes;
        view.bytes_ -= static_cast<uint32_t>(std::min<uint64_t>(bytes, bytes_));
        return view;
    }
    template <class U> LocalTensor<U> ReinterpretCast() const
    {
        return LocalTensor<U>::Over(address_, bytes_, position_, buffer_);
    }
    uint64_t GetPhyAddr() const { return reinterpret_cast<uint64_t>(address_); }
    uint64_t GetPhyAddr(uint32_t offset) const { return reinterpret_cast<uint64_t>(Element(offset)); }
    TPosition GetPosition() const { return position_; }
    uint32_t GetSize() const { return static_cast<uint32_t>(bytes_ / sizeof(T)); }
    uint32_t GetLength() const { return bytes_; }
    void SetSize(uint32_t count) { bytes_ = static_cast<uint32_t>(count * sizeof(T)); }
    void SetBufferLen(uint32_t bytes) { bytes_ = bytes; }
    void SetUserTag(TTagType tag) { tag_ = tag; }
    TTagType GetUserTag() const { return tag_; }
    void SetShapeInfo(const ShapeInfo &info) { shape_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    template <class S> void SetAddrWithOffset(const LocalTensor<S> &source, uint32_t offset)
    {
        *this = source.template ReinterpretCast<T>();
        address_ += offset * sizeof(S);
        bytes_ -= static_cast<uint32_t>(offset * sizeof(S));
    }
    void CreateTensor(TPosition position, uint32_t address, uint32_t count, Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("LocalTensor", where);
        sim::LocalMemory &memory = core.MemoryOf(position);
        const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
        if (core.checks()) {
            if (address % memory.alignment() != 0) {
                core.Fail("address %u of %s is not a multiple of %u", address, memory.name(), memory.alignment());
            }
            if (address + bytes > memory.capacity()) {
                core.Fail("the tensor ends at byte %llu of %s, which has %u", static_cast<unsigned long long>(address + bytes),
                          memory.name(), memory.capacity());
            }
        }
        *this = Over(memory.base() + address, static_cast<uint32_t>(bytes), position);
    }
    void Print(uint32_t count = 0) const;

    uint8_t *bytes() const { return address_; }
    sim::Buffer *buffer() const { return buffer_; }

    // --- whole-tensor operators
    template <class U> void operator=(const sim::TensorExpression<U> &expression) { sim::Assign(*this, expression); }
    using Expression = sim::TensorExpression<T>;
    Expression operator+(const LocalTensor &b) const { return {Expression::Op::kAdd, CMPMODE::EQ, *this, b}; }
    Expression operator-(const LocalTensor &b) const { return {Expression::Op::kSub, CMPMODE::EQ, *this, b}; }
    Expression operator*(const LocalTensor &b) const { return {Expression::Op::kMul, CMPMODE::EQ, *this, b}; }
    Expression operator/(const LocalTensor &b) const { return {Expression::Op::kDiv, CMPMODE::EQ, *this, b}; }
    Expression operator|(const LocalTensor &b) const { return {Expression::Op::kOr, CMPMODE::EQ, *this, b}; }
    Expression operator&(const LocalTensor &b) const { return {Expression::Op::kAnd, CMPMODE::EQ, *this, b}; }
    Expression operator<(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::LT, *this, b}; }
    Expression operator>(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::GT, *this, b}; }
    Expression operator==(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::EQ, *this, b}; }
    Expression operator!=(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::NE, *this, b}; }
    Expression operator<=(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::LE, *this, b}; }
    Expression operator>=(const LocalTensor &b) const { return {Expression::Op::kCompare, CMPMODE::GE, *this, b}; }

private:
    T *Element(uint32_t index) const { return reinterpret_cast<T *>(address_) + index; }
    void CheckIndex(sim::Core &core, uint32_t index) const
    {
        if (core.checks() && (static_cast<uint64_t>(index) + 1) * sizeof(T) > bytes_) {
            core.Fail("index %u is not within the tensor's %u elements", index, GetSize());
        }
    }

    uint8_t *address_ = nullptr;
    uint32_t bytes_ = 0;
    TPosition position_ = TPosition::MAX;
    TTagType tag_ = 0;
    sim::Buffer *buffer_ = nullptr;
    ShapeInfo shape_;
};

template <class T> class GlobalTensor {
public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T *buffer, uint64_t count)
    {
        address_ = buffer;
        count_ = count;
    }
    void SetGlobalBuffer(__gm__ T *buffer) { SetGlobalBuffer(buffer, 0); }
    GlobalTensor operator[](uint64_t offset) const
    {
        GlobalTensor view = *this;
        view.address_ += offset;
        view.count_ = count_ > offset ? count_ - offset : 0;
        return view;
    }
    const __gm__ T *GetPhyAddr() const { return address_; }
    __gm__ T *GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    T GetValue(uint64_t index, Where where = Where::Here()) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("GlobalTensor::GetValue", sim::Pipe::S, where);
        core.CheckGlobal(address_ + index, sizeof(T), "the element");
        T value;
        core.LoadGlobal(sim::Pipe::S, address_ + index, sizeof(T), "the element", [&] { value = Load(address_ + index); });
        core.AcquireLine(address_ + index);
        return value;
    }
    void SetValue(uint64_t index, T value, Where where = Where::Here()) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("GlobalTensor::SetValue", sim::Pipe::S, where);
        core.CheckGlobal(address_ + index, sizeof(T), "the element");
        core.StoreGlobal(sim::Pipe::S, address_ + index, sizeof(T), sim::Touch::kWrite, "the element", &value, [] {});
        core.ReleaseLine(address_ + index);
        Store(address_ + index, value);
    }
    __gm__ T &operator()(uint64_t index, Where where = Where::Here()) const
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("GlobalTensor::operator()", sim::Pipe::S, where);
        core.CheckGlobal(address_ + index, sizeof(T), "the element");
        return address_[index];
    }
    uint64_t GetSize() const { return count_; }
    template <class U> GlobalTensor<U> ReinterpretCast() const
    {
        GlobalTensor<U> other;
        other.SetGlobalBuffer(reinterpret_cast<U *>(address_), count_ * sizeof(T) / sizeof(U));
        return other;
    }
    void SetShapeInfo(const ShapeInfo &info) { shape_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    template <CacheRwMode mode = CacheRwMode::RW> void SetL2CacheHint(CacheMode) {}

private:
    // Another core may write the element while this one polls it.
    static T Load(const T *address)
    {
        T value;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        std::memcpy(&value, address, sizeof(T));
        return value;
    }
    static void Store(T *address, const T &value)
    {
        std::memcpy(address, &value, sizeof(T));
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }

    __gm__ T *address_ = nullptr;
    uint64_t count_ = 0;
    ShapeInfo shape_;
};

namespace sim {

constexpr Mem MemoryOf(Hardware hardware)
{
    switch (hardware) {
    case Hardware::L1:
        return Mem::L1;
    case Hardware::L0A:
        return Mem::L0A;
    case Hardware::L0B:
        return Mem::L0B;
    case Hardware::L0C:
        return Mem::L0C;
    case Hardware::BIAS:
        return Mem::BT;
    case Hardware::FIXBUF:
        return Mem::FB;
    default:
        return Mem::UB;
    }
}

constexpr TPosition DefaultPosition(Hardware hardware)
{
    switch (hardware) {
    case Hardware::L1:
        return TPosition::A1;
    case Hardware::L0A:
        return TPosition::A2;
    case Hardware::L0B:
        return TPosition::B2;
    case Hardware::L0C:
        return TPosition::CO1;
    case Hardware::BIAS:
        return TPosition::C2;
    case Hardware::FIXBUF:
        return TPosition::C2PIPE2GM;
    default:
        return TPosition::VECCALC;
    }
}

} // namespace sim

// Hands out addresses of one memory from 0 upwards.
template <Hardware hardware> class LocalMemAllocator {
public:
    LocalMemAllocator(Where where = Where::Here())
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("LocalMemAllocator", where);
        bool &taken = core.allocation().allocators[static_cast<int>(sim::MemoryOf(hardware))];
        if (core.checks() && taken) {
            core.Fail("a second LocalMemAllocator of %s while another one lives: both hand out the same bytes",
                      core.memory(sim::MemoryOf(hardware)).name());
        }
        taken = true;
        counts_ = true;
    }
    // A copy goes on from where the other is.
    LocalMemAllocator(const LocalMemAllocator &other) : next_(other.next_) {}
    LocalMemAllocator &operator=(const LocalMemAllocator &other)
    {
        next_ = other.next_;
        return *this;
    }
    ~LocalMemAllocator()
    {
        if (sim::Core *core = counts_ ? sim::Core::CurrentOrNull() : nullptr) {
            core->allocation().allocators[static_cast<int>(sim::MemoryOf(hardware))] = false;
        }
    }
    uint32_t GetCurAddr() const { return next_; }

    template <TPosition position, class T, uint32_t count> LocalTensor<T> Alloc(Where where = Where::Here())
    {
        return Take<T>(position, count, where);
    }
    template <TPosition position, class T> LocalTensor<T> Alloc(uint32_t count, Where where = Where::Here())
    {
        return Take<T>(position, count, where);
    }
    template <class T, uint32_t count> LocalTensor<T> Alloc(Where where = Where::Here())
    {
        return Take<T>(sim::DefaultPosition(hardware), count, where);
    }
    template <class T> LocalTensor<T> Alloc(uint32_t count, Where where = Where::Here())
    {
        return Take<T>(sim::DefaultPosition(hardware), count, where);
    }

private:
    template <class T> LocalTensor<T> Take(TPosition position, uint32_t count, Where where)
    {
        sim::Core &core = sim::Core::Current();
        core.Begin("LocalMemAllocator::Alloc", where);
        sim::LocalMemory &memory = core.memory(sim::MemoryOf(hardware));
        const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
        if (core.checks() && next_ + bytes > memory.capacity()) {
            core.Fail("%llu bytes at %u do not fit into %s, which has %u bytes", static_cast<unsigned long long>(bytes),
                      next_, memory.name(), memory.capacity());
        }
        LocalTensor<T> tensor = LocalTensor<T>::Over(memory.base() + next_, static_cast<uint32_t>(bytes), position);
        const uint32_t unit = memory.alignment();
        next_ = static_cast<uint32_t>((next_ + bytes + unit - 1) / unit * unit);
        core.NotePeak(sim::MemoryOf(hardware), next_);
        return tensor;
    }

    uint32_t next_ = 0;
    bool counts_ = false;
};

// A table of tensors in global memory: byte offset of the pointer array, then per tensor (dims and index), sizes.
template <class T> class TensorDesc {
public:
    void SetShapeAddr(uint64_t *sizes) { sizes_ = sizes; }
    uint64_t GetDim() const { return dim_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t axis) const { return sizes_[axis]; }
    __gm__ T *GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj() const
    {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data_);
        return tensor;
    }

private:
    friend class ListTensorDesc;
    uint64_t *sizes_ = nullptr;
    uint64_t dim_ = 0;
    uint64_t index_ = 0;
    T *data_ = nullptr;
};

class ListTensorDesc {
public:
    ListTensorDesc() = default;
    ListTensorDesc(__gm__ void *data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff)
    {
        Init(data, length, shapeSize);
    }
    void Init(__gm__ void *data, uint32_t = 0xffffffff, uint32_t = 0xffffffff)
    {
        base_ = static_cast<uint8_t *>(data);
        pointers_ = reinterpret_cast<uint64_t *>(base_ + *reinterpret_cast<uint64_t *>(base_));
    }
    // Entries lie between the offset word and the pointers.
    uint32_t GetSize() const
    {
        uint32_t count = 0;
        for (const uint64_t *entry = First(); entry < pointers_; entry += 1 + static_cast<uint32_t>(*entry)) {
            ++count;
        }
        return count;
    }
    template <class T> __gm__ T *GetDataPtr(uint32_t index) const { return reinterpret_cast<T *>(pointers_[index]); }
    template <class T> void GetDesc(TensorDesc<T> &desc, uint32_t index) const
    {
        const uint64_t *entry = First();
        for (uint32_t i = 0; i < index; ++i) {
            entry += 1 + static_cast<uint32_t>(*entry);
        }
        desc.dim_ = static_cast<uint32_t>(*entry);
        desc.index_ = *entry >> 32;
        if (desc.sizes_ != nullptr) {
            std::copy(entry + 1, entry + 1 + desc.dim_, desc.sizes_);
        }
        desc.data_ = GetDataPtr<T>(index);
    }

private:
    const uint64_t *First() const { return reinterpret_cast<const uint64_t *>(base_) + 1; }
    uint8_t *base_ = nullptr;
    uint64_t *pointers_ = nullptr;
};

template <class T> struct MrgSortSrcList {
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T> &a, const LocalTensor<T> &b, const LocalTensor<T> &c, const LocalTensor<T> &d)
        : src1(a), src2(b), src3(c), src4(d)
    {
    }
    LocalTensor<T> src1, src2, src3, src4;
};

} // namespace AscendC

#endif // ASCENDC_SIM_TENSOR_H
