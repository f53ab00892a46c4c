/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions. The embedded device follows the API of CANN 9.1 and says so; no CANN is installed behind it.
 */
#include <cstdio>
#include <cstring>

#include "entry.h"

using namespace acl_cpu;

namespace {

constexpr char version_text[] = "9.1.0";
constexpr int32_t version_number = 9 * 10000000 + 1 * 100000 + 0 * 1000;

/* Packages that a program may ask for; this library stands for all that it can do without. */
bool is_known(const char *package)
{
    static const char *const known[] = {"runtime", "toolkit", "cann", "bisheng-compiler", "driver"};
    for (const char *name : known) {
        if (strcmp(name, package) == 0) return true;
    }
    return false;
}

aclError check_package(const char *package)
{
    if (is_known(package)) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_FILE, "pkg_name \"%s\" is no package of this device", package);
}

} // namespace

aclError aclrtGetVersion(int32_t *major_version, int32_t *minor_version, int32_t *patch_version)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(major_version);
    REQUIRE_NOT_NULL(minor_version);
    REQUIRE_NOT_NULL(patch_version);
    *major_version = ACL_MAJOR_VERSION;
    *minor_version = ACL_MINOR_VERSION;
    *patch_version = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkg_name, char *version_str)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(pkg_name);
    REQUIRE_NOT_NULL(version_str);
    RETURN_IF_ERROR(check_package(pkg_name));
    memcpy(version_str, version_text, sizeof version_text);
    return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char *pkg_name, int32_t *version_num)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(pkg_name);
    REQUIRE_NOT_NULL(version_num);
    RETURN_IF_ERROR(check_package(pkg_name));
    *version_num = version_number;
    return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(version);
    switch (name) {
    case ACL_PKG_NAME_CANN:
    case ACL_PKG_NAME_RUNTIME:
    case ACL_PKG_NAME_TOOLKIT:
    case ACL_PKG_NAME_DRIVER: break;
    case ACL_PKG_NAME_COMPILER:
    case ACL_PKG_NAME_HCCL:
    case ACL_PKG_NAME_OPP:
    case ACL_PKG_NAME_OPP_KERNEL:
        return fail(ACL_ERROR_INVALID_FILE, "package %d is not part of this device", static_cast<int>(name));
    default: return fail(ACL_ERROR_INVALID_PARAM, "name is %d, not one of aclCANNPackageName", static_cast<int>(name));
    }
    memset(version, 0, sizeof *version);
    memcpy(version->version, version_text, sizeof version_text);
    strcpy(version->majorVersion, "9");
    strcpy(version->minorVersion, "1");
    strcpy(version->releaseVersion, "0");
    return ACL_SUCCESS;
}
