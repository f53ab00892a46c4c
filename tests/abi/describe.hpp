// SPDX-License-Identifier: Apache-2.0
// Prints what the compiler makes of declarations, one fact a line, so that two sets of headers can be
// compared. The program around it is written by acl_description.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

namespace describe {

// The compiler's own spelling of a type: typedefs are resolved, enums and structs keep their names,
// parameters lose their top-level const. Both sides see the same compiler, so equal types read equal.
template <typename T>
std::string spelling() {
    const std::string text = __PRETTY_FUNCTION__;
    const std::size_t begin = text.find("T = ") + 4;
    std::size_t end = text.find("; std::string", begin);  // gcc adds the alias it used in the signature
    if (end == std::string::npos) {
        end = text.rfind(']');
    }
    return text.substr(begin, end - begin);
}

template <typename T>
void type(const char *name) {
    if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
        std::printf("struct %s\tsize %zu, align %zu\n", name, sizeof(T), alignof(T));
    } else if constexpr (std::is_enum_v<T>) {
        std::printf("enum %s\tsize %zu\n", name, sizeof(T));
    } else {
        std::printf("type %s\t%s\n", name, spelling<T>().c_str());
    }
}

template <typename T>
void field(const char *owner, const char *name, std::size_t offset) {
    std::printf("field %s.%s\toffset %zu, %s\n", owner, name, offset, spelling<T>().c_str());
}

template <typename T>
void function(const char *name) {
    std::printf("function %s\t%s\n", name, spelling<T>().c_str());
}

inline void constant(const char *name, long long value) { std::printf("constant %s\t%lld\n", name, value); }

}  // namespace describe

#define DESCRIBE_TYPE(name) describe::type<name>(#name);
#define DESCRIBE_FIELD(owner, member) \
    describe::field<decltype(owner::member)>(#owner, #member, offsetof(owner, member));
#define DESCRIBE_NESTED(owner, outer, member) \
    describe::field<decltype(owner::outer.member)>(#owner, #outer "." #member, offsetof(owner, outer.member));
// Only the type is asked for, so there is nothing to link.
#define DESCRIBE_FUNCTION(name) describe::function<decltype(name)>(#name);
// The macro may be one (an error code of the vendor's): spell the name before it expands.
#define DESCRIBE_CONSTANT(spelled, value) describe::constant(spelled, static_cast<long long>(value));
