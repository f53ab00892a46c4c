/* SPDX-License-Identifier: Apache-2.0
 *
 * A small strict JSON reader for the configuration file of aclInit.
 */
#ifndef ASCENDCL_CPU_JSON_H
#define ASCENDCL_CPU_JSON_H

#include <string>
#include <utility>
#include <vector>

namespace acl_cpu {

struct Json {
    enum Type { Null, Bool, Number, String, Array, Object } type = Null;
    bool boolean = false;
    double number = 0;
    std::string string; /* of strings; of numbers, as written */
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;

    const Json *find(const char *key) const;
};

/* False where `text` is no JSON; `error` then says what is wrong and where. */
bool parse_json(const std::string &text, Json *result, std::string *error);

} // namespace acl_cpu
#endif
