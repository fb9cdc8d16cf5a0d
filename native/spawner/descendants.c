/* Finds what tools leave behind, by parentage and by mark (see spawner.c), and ends it. */
#define _GNU_SOURCE
#include "spawner.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t first_mark;

bool set_first_mark(uint64_t mark)
{
    struct rlimit own;
    if (mark == 0 || mark > RLIM_INFINITY - 2 * (uint64_t)UINT32_MAX || getrlimit(RLIMIT_LOCKS, &own) < 0)
        return false;
    first_mark = mark;
    /* Below a finite limit, such as the mark of another spawner above, only lower ones can be given. */
    if (own.rlim_max < mark + UINT32_MAX) {
        if (own.rlim_max < 2 * (uint64_t)UINT32_MAX)
            return false;
        first_mark = 1 + mark % (own.rlim_max - UINT32_MAX - 1);
    }
    return true;
}

uint64_t mark_of(uint32_t id)
{
    return first_mark + id;
}

/* @returns the hard RLIMIT_LOCKS of a process, 0 where it is gone or has none */
static uint64_t locks_limit(pid_t pid)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_LOCKS, NULL, &limit) == 0)
        return limit.rlim_max;
    /* Of another user's process root learns it by prlimit only with CAP_SYS_RESOURCE, which containers seldom have. */
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%d/limits", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = 0;
    const char *line = strstr(text, "\nMax file locks");
    unsigned long long hard = 0;
    return line && sscanf(line, " Max file locks %*s %llu", &hard) == 1 ? hard : 0;
}

/* @returns the id in a process's mark, in *id; false when it bears none of ours */
static bool read_mark(pid_t pid, uint32_t *id)
{
    const uint64_t limit = locks_limit(pid);
    if (limit - first_mark > UINT32_MAX)
        return false;
    *id = (uint32_t)(limit - first_mark);
    return true;
}

/* What is done with a process, and whether there was anything to do. */
typedef bool (*visitor)(pid_t pid, const struct tools_view *tools);

/* Visits every process of the machine (or of this namespace). @returns whether any visit said true */
static bool visit_all(visitor visit, const struct tools_view *tools)
{
    bool any = false;
    DIR *proc = opendir("/proc");
    if (!proc)
        return false;
    for (struct dirent *entry; (entry = readdir(proc));)
        if (isdigit((unsigned char)*entry->d_name))
            any = visit((pid_t)atoi(entry->d_name), tools) || any;
    closedir(proc);
    return any;
}

static bool kill_orphan(pid_t child, const struct tools_view *tools)
{
    uint32_t id;
    if (tools && (tools->leads(child) || (read_mark(child, &id) && tools->lives(id))))
        return false;
    /* A group of this number can only be its own. */
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    return true;
}

/* @returns the parent of a process, or 0 */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = 0;
    /* "pid (name) state parent …": the name may hold anything. */
    const char *after = strrchr(text, ')');
    return after && strlen(after) > 4 ? (pid_t)atoi(after + 4) : 0;
}

static bool kill_if_orphan(pid_t pid, const struct tools_view *tools)
{
    return parent_of(pid) == getpid() && kill_orphan(pid, tools);
}

/* Not every kernel is built with the list of children; they are then picked out of all processes. */
bool kill_orphans(const struct tools_view *tools)
{
    bool any = false;
    char text[4096];
    pid_t pid = 0;
    const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return visit_all(kill_if_orphan, tools);
    for (ssize_t length; (length = read(fd, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < length; i++) {
            if (isdigit((unsigned char)text[i])) {
                pid = 10 * pid + (text[i] - '0');
            } else if (pid) {
                any = kill_orphan(pid, tools) || any;
                pid = 0;
            }
        }
    }
    close(fd);
    return any;
}

/* It is nobody's child here: a pidfd holds on to it, so that its number cannot pass to another unseen. */
static bool kill_leftover(pid_t pid, const struct tools_view *none)
{
    uint32_t id;
    (void)none;
    if (!read_mark(pid, &id))
        return false;
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ENOSYS && kill(pid, SIGKILL) == 0;
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    const bool ours = read_mark(pid, &id) && poll(&ended, 1, 0) == 0;
    const bool killed = ours && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    close(fd);
    return killed;
}

void kill_leftovers(int within_ms)
{
    const int64_t until = now_ms() + within_ms;
    while (visit_all(kill_leftover, NULL) && now_ms() < until)
        poll(NULL, 0, 1);
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
