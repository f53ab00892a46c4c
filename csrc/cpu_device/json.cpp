/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <cstdlib>
#include <cstring>

namespace acl_cpu {
namespace {

class Reader {
public:
    Reader(const std::string &text, std::string *error) : text_(text), error_(error) {}

    bool document(Json *result)
    {
        if (!value(result, 0)) return false;
        skip_space();
        return at_ == text_.size() || wrong("text after the end");
    }

private:
    static constexpr int deepest = 64;

    bool wrong(const char *what)
    {
        size_t line = 1;
        for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n';
        *error_ = std::string(what) + " in line " + std::to_string(line);
        return false;
    }

    void skip_space()
    {
        while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != '\0') ++at_;
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c)
    {
        if (peek() != c || at_ >= text_.size()) return false;
        ++at_;
        return true;
    }

    bool value(Json *result, int depth)
    {
        if (depth > deepest) return wrong("too many levels");
        skip_space();
        switch (peek()) {
        case '{': return object(result, depth);
        case '[': return array(result, depth);
        case '"': result->type = Json::String; return string(&result->string);
        case 't': result->type = Json::Bool; result->boolean = true; return word("true");
        case 'f': result->type = Json::Bool; return word("false");
        case 'n': return word("null");
        default: return number(result);
        }
    }

    bool word(const char *expected)
    {
        if (text_.compare(at_, strlen(expected), expected) != 0) return wrong("unknown word");
        at_ += strlen(expected);
        return true;
    }

    bool digits()
    {
        size_t first = at_;
        while (peek() >= '0' && peek() <= '9') ++at_;
        return at_ > first;
    }

    bool number(Json *result)
    {
        size_t first = at_;
        take('-');
        if (take('0')) {
            /* a zero stands alone */
        } else if (!digits()) {
            return wrong("no value");
        }
        if (take('.') && !digits()) return wrong("bad number");
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            if (!digits()) return wrong("bad number");
        }
        result->type = Json::Number;
        result->string = text_.substr(first, at_ - first);
        result->number = strtod(result->string.c_str(), nullptr);
        return true;
    }

    bool hex4(unsigned *code)
    {
        *code = 0;
        for (int i = 0; i < 4; ++i) {
            char c = peek();
            unsigned digit = c >= '0' && c <= '9' ? unsigned(c - '0') : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? unsigned(c - 'A' + 10) : 99;
            if (digit == 99) return wrong("bad \\u in a string");
            *code = *code * 16 + digit;
            ++at_;
        }
        return true;
    }

    static void append_utf8(std::string *out, unsigned code)
    {
        if (code < 0x80) {
            *out += char(code);
        } else if (code < 0x800) {
            *out += char(0xC0 | code >> 6);
            *out += char(0x80 | (code & 0x3F));
        } else if (code < 0x10000) {
            *out += char(0xE0 | code >> 12);
            *out += char(0x80 | (code >> 6 & 0x3F));
            *out += char(0x80 | (code & 0x3F));
        } else {
            *out += char(0xF0 | code >> 18);
            *out += char(0x80 | (code >> 12 & 0x3F));
            *out += char(0x80 | (code >> 6 & 0x3F));
            *out += char(0x80 | (code & 0x3F));
        }
    }

    bool escape(std::string *out)
    {
        static const char letters[] = "\"\\/bfnrt";
        static const char meanings[] = "\"\\/\b\f\n\r\t";
        char c = peek();
        ++at_;
        if (c == 'u') {
            unsigned code;
            if (!hex4(&code)) return false;
            if (code >= 0xD800 && code < 0xDC00 && take('\\') && take('u')) {
                unsigned low;
                if (!hex4(&low)) return false;
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            append_utf8(out, code);
            return true;
        }
        const char *found = c != '\0' ? strchr(letters, c) : nullptr;
        if (found == nullptr) return wrong("bad escape in a string");
        *out += meanings[found - letters];
        return true;
    }

    bool string(std::string *out)
    {
        ++at_;
        while (at_ < text_.size()) {
            char c = text_[at_++];
            if (c == '"') return true;
            if (static_cast<unsigned char>(c) < 0x20) return wrong("control character in a string");
            if (c != '\\') *out += c;
            else if (!escape(out)) return false;
        }
        return wrong("string without end");
    }

    bool array(Json *result, int depth)
    {
        result->type = Json::Array;
        ++at_;
        skip_space();
        if (take(']')) return true;
        for (;;) {
            result->items.emplace_back();
            if (!value(&result->items.back(), depth + 1)) return false;
            skip_space();
            if (take(']')) return true;
            if (!take(',')) return wrong("no , or ]");
        }
    }

    bool object(Json *result, int depth)
    {
        result->type = Json::Object;
        ++at_;
        skip_space();
        if (take('}')) return true;
        for (;;) {
            skip_space();
            if (peek() != '"') return wrong("a key must be a string");
            result->members.emplace_back();
            if (!string(&result->members.back().first)) return false;
            skip_space();
            if (!take(':')) return wrong("no : behind a key");
            if (!value(&result->members.back().second, depth + 1)) return false;
            skip_space();
            if (take('}')) return true;
            if (!take(',')) return wrong("no , or }");
        }
    }

    const std::string &text_;
    std::string *error_;
    size_t at_ = 0;
};

} // namespace

const Json *Json::find(const char *key) const
{
    for (const auto &member : members) {
        if (member.first == key) return &member.second;
    }
    return nullptr;
}

bool parse_json(const std::string &text, Json *result, std::string *error)
{
    return Reader(text, error).document(result);
}

} // namespace acl_cpu
