// A PKCS#11 module that forwards to another one, and fails as a test demands.
//
//     cc -shared -fPIC -o shim.so Tests/Faults/pkcs11-shim.c
//
// SHIM_MODULE   the other module's path
// SHIM_PLAN     faults, separated by semicolons: FUNCTION CALLS ACTION
//                   C_Sign 3 0x82           the third call returns this value and is not forwarded
//                   C_Sign 3- 0x30          each from the third on; 3-5: three calls
//                   C_Sign 5 hang           the fifth call never returns
//                   * 1- latency 50         each call of any function takes 50 ms longer
//                   C_GenerateKey 1 set 0x162 01    the template's attribute gets another value of the same length
// SHIM_CALLS    a file to which the name of each call is appended, from which tests count calls
//
// A function's calls are counted from 1 in each process. Only the functions that remote-pin-keys calls are covered.
#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit-1/p11-kit/pkcs11.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static CK_FUNCTION_LIST *real;
static CK_FUNCTION_LIST own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct fault {
    char function[32];
    int first, last;
    char action[16];
    unsigned long value;
    char text[128];
};
static struct fault faults[32];
static int faultCount;

static struct {
    const char *function;
    int calls;
} counters[32];

static void parse(void) {
    const char *plan = getenv("SHIM_PLAN");
    char *copy = strdup(plan ? plan : ""), *rest = copy, *item;
    while ((item = strsep(&rest, ";"))) {
        struct fault *fault = &faults[faultCount];
        char calls[16], *dash;
        int words = sscanf(item, " %31s %15s %15s %li %127s", fault->function, calls, fault->action,
                           (long *)&fault->value, fault->text);
        if (words < 1) continue;
        if (words < 3 || faultCount + 1 == COUNT(faults)) {
            fprintf(stderr, "SHIM_PLAN: %s\n", item);
            abort();
        }
        dash = strchr(calls, '-');
        fault->first = atoi(calls);
        fault->last = !dash ? fault->first : dash[1] ? atoi(dash + 1) : 1 << 30;
        faultCount++;
    }
    free(copy);
}

/// Returns the number of this call of the function in the process.
static int count(const char *function) {
    const char *path = getenv("SHIM_CALLS");
    int number = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < COUNT(counters) && !number; i++) {
        if (!counters[i].function) counters[i].function = function;
        if (!strcmp(counters[i].function, function)) number = ++counters[i].calls;
    }
    pthread_mutex_unlock(&lock);
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        char line[40];
        int length = snprintf(line, sizeof line, "%s\n", function);
        if (write(file, line, length) != length) abort();
        close(file);
    }
    return number;
}

/// Applies the plan to a call; returns the value of a call that is not forwarded, or CKR_OK.
static CK_RV before(const char *function, CK_ATTRIBUTE *attributes, CK_ULONG attributeCount) {
    int number = count(function);
    for (int i = 0; i < faultCount; i++) {
        const struct fault *fault = &faults[i];
        if (strcmp(fault->function, "*") && strcmp(fault->function, function)) continue;
        if (number < fault->first || number > fault->last) continue;
        if (!strcmp(fault->action, "hang")) {
            for (;;) pause();
        } else if (!strcmp(fault->action, "latency")) {
            struct timespec time = {fault->value / 1000, fault->value % 1000 * 1000000};
            nanosleep(&time, NULL);
        } else if (!strcmp(fault->action, "set")) {
            for (CK_ULONG j = 0; j < attributeCount; j++) {
                unsigned char *bytes = attributes[j].pValue;
                if (attributes[j].type != fault->value) continue;
                for (CK_ULONG k = 0; k < attributes[j].ulValueLen; k++) sscanf(fault->text + 2 * k, "%2hhx", &bytes[k]);
            }
        } else {
            return strtoul(fault->action, NULL, 0);
        }
    }
    return CKR_OK;
}

#define FORWARD(name, parameters, arguments, attributes, attributeCount) \
    static CK_RV shim_##name parameters { \
        CK_RV result = before(#name, attributes, attributeCount); \
        return result == CKR_OK ? real->name arguments : result; \
    }
#define PLAIN(name, parameters, arguments) FORWARD(name, parameters, arguments, NULL, 0)
#define SESSION CK_SESSION_HANDLE session
#define TEMPLATE CK_ATTRIBUTE *attributes, CK_ULONG attributeCount

PLAIN(C_Initialize, (void *arguments), (arguments))
PLAIN(C_Finalize, (void *reserved), (reserved))
PLAIN(C_GetSlotList, (CK_BBOOL present, CK_SLOT_ID *slots, CK_ULONG *n), (present, slots, n))
PLAIN(C_GetTokenInfo, (CK_SLOT_ID slot, CK_TOKEN_INFO *info), (slot, info))
PLAIN(C_GetMechanismInfo, (CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO *info), (slot, type, info))
PLAIN(C_OpenSession, (CK_SLOT_ID slot, CK_FLAGS flags, void *application, CK_NOTIFY notify, CK_SESSION_HANDLE *session),
      (slot, flags, application, notify, session))
PLAIN(C_Login, (SESSION, CK_USER_TYPE user, unsigned char *pin, CK_ULONG n), (session, user, pin, n))
FORWARD(C_FindObjectsInit, (SESSION, TEMPLATE), (session, attributes, attributeCount), attributes, attributeCount)
PLAIN(C_FindObjects, (SESSION, CK_OBJECT_HANDLE *found, CK_ULONG limit, CK_ULONG *n), (session, found, limit, n))
PLAIN(C_FindObjectsFinal, (SESSION), (session))
PLAIN(C_GetAttributeValue, (SESSION, CK_OBJECT_HANDLE object, TEMPLATE), (session, object, attributes, attributeCount))
PLAIN(C_SignInit, (SESSION, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key), (session, mechanism, key))
PLAIN(C_Sign, (SESSION, unsigned char *data, CK_ULONG n, unsigned char *code, CK_ULONG *m), (session, data, n, code, m))
FORWARD(C_GenerateKey, (SESSION, CK_MECHANISM *mechanism, TEMPLATE, CK_OBJECT_HANDLE *key),
        (session, mechanism, attributes, attributeCount, key), attributes, attributeCount)
FORWARD(C_CreateObject, (SESSION, TEMPLATE, CK_OBJECT_HANDLE *object), (session, attributes, attributeCount, object),
        attributes, attributeCount)

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list) {
    const char *path = getenv("SHIM_MODULE");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    CK_C_GetFunctionList entry = library ? (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList") : NULL;
    if (!entry || entry(&real) != CKR_OK) return CKR_GENERAL_ERROR;
    parse();
    own = *real;
#define OWN(name) own.name = shim_##name;
    OWN(C_Initialize) OWN(C_Finalize) OWN(C_GetSlotList) OWN(C_GetTokenInfo) OWN(C_GetMechanismInfo)
    OWN(C_OpenSession) OWN(C_Login) OWN(C_FindObjectsInit) OWN(C_FindObjects)
    OWN(C_FindObjectsFinal) OWN(C_GetAttributeValue) OWN(C_SignInit) OWN(C_Sign) OWN(C_GenerateKey)
    OWN(C_CreateObject)
    *list = &own;
    return CKR_OK;
}
