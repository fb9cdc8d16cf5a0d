/*
 * The spawner: starts tool processes for the gateway and leaves none of them behind.
 *
 *   spawner MARK            (16 hexadecimal digits, see "Marks")
 *
 * It speaks with the gateway over its stdin and stdout, and lives until its stdin ends (the gateway has gone, however
 * it went): then it kills every tool and everything below it, and exits. All numbers are unsigned 32 bit, little
 * endian.
 *
 *   request: length of the body, kind, id, body
 *     1 SPAWN    argc, envc, then strings that end with NUL: command, cwd, argc arguments (the first is argv[0]),
 *                envc "NAME=value". The id names the tool from now on; the gateway never uses it again.
 *     2 SIGNAL   signal number: to the tool's process group. Nothing when the tool has ended.
 *     3 RELEASE  the gateway has opened its ends of the three pipes (or does not want them): the copies here are closed.
 *
 *   reply: kind, id, and four numbers
 *     1 READY    protocol version, 0, 0, 0      once, when it has started; the id is 0
 *     2 STARTED  pid, then descriptor numbers: to write stdin, to read stdout, to read stderr. The gateway opens
 *                /proc/<pid of the spawner>/fd/<number>, which gives it descriptors of its own, and says RELEASE.
 *     3 FAILED   errno, step (enum step), 0, 0  nothing runs
 *     4 EXITED   exit code, signal number (0: none), 0, 0
 *
 * What a tool leaves behind. The spawner is a subreaper: whoever loses its parent below it becomes its child. When a
 * tool's process ends, its group is killed while the process is still a zombie, so that its number cannot be another's
 * yet. Who left the group (setsid) becomes a child of the spawner when its own parents have died: every child that is
 * no tool's leader is an orphan, and is killed unless the tool that it descends from still lives. Every death makes
 * the spawner look again, so a tree is taken apart to its leaves. All killing is of children that only the spawner
 * itself can reap: no signal ever reaches a stranger whose process happens to have got the same number.
 *
 * Marks. Which tool an orphan descends from is told by its RLIMIT_LOCKS, a limit that the kernel has not used since
 * Linux 2.4 and that every descendant inherits whatever it does to its environment, session or parents: MARK + id.
 * A process that changed it is nobody's and is killed at the first look. A spawner that takes the place of one that
 * was killed is given the same MARK: it first kills what its predecessor's tools left behind.
 */
#define _GNU_SOURCE
#include "spawner/spawner.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROTOCOL_VERSION = 1, HEADER_BYTES = 12, MAX_BODY_BYTES = 16 << 20, BUCKETS = 1024 };
enum request { SPAWN = 1, SIGNAL, RELEASE };
enum reply { READY = 1, STARTED, FAILED, EXITED };
enum exit_code { EXIT_USAGE = 2, EXIT_SETUP, EXIT_PROTOCOL, EXIT_MEMORY };

/* After a death or a kill it looks for orphans again this much later. */
static const int look_again_ms = 20;
/* Who cannot be killed within this time (another user's, or stuck in the kernel) is left. The client waits longer. */
static const int give_up_ms = 5000;
/*
 * The default of 64 KiB makes a message of 1 MB slower (a switch of processes every 64 KiB). Not more: an ordinary user
 * has 64 MiB for all pipes, which is enough for 100 tools; beyond it the kernel makes them small, and slow.
 */
static const int pipe_bytes = 256 << 10;

/* Ends of a tool's pipes that wait to be opened by the gateway; READ_STDIN keeps its opening from failing (ENXIO). */
enum { WRITE_STDIN, READ_STDOUT, READ_STDERR, READ_STDIN, HELD };

struct tool {
    struct tool *next_by_id, *next_by_pid;
    uint32_t id;
    pid_t pid; /* 0: ended, and waits for its RELEASE */
    int held[HELD];
    bool released;
};

static struct tool *by_id[BUCKETS], *by_pid[BUCKETS];
static bool gateway_gone;

/* --- The tools ---------------------------------------------------------------------------------------------------- */

static struct tool *find_id(uint32_t id)
{
    struct tool *tool = by_id[id % BUCKETS];
    while (tool && tool->id != id)
        tool = tool->next_by_id;
    return tool;
}

static struct tool *find_pid(pid_t pid)
{
    struct tool *tool = by_pid[pid % BUCKETS];
    while (tool && tool->pid != pid)
        tool = tool->next_by_pid;
    return tool;
}

static void add(struct tool *tool)
{
    tool->next_by_id = by_id[tool->id % BUCKETS];
    by_id[tool->id % BUCKETS] = tool;
    tool->next_by_pid = by_pid[tool->pid % BUCKETS];
    by_pid[tool->pid % BUCKETS] = tool;
}

/* It is forgotten when it has both ended and been released. */
static void forget_if_done(struct tool *tool)
{
    if (tool->pid || !tool->released)
        return;
    struct tool **link = &by_id[tool->id % BUCKETS];
    while (*link != tool)
        link = &(*link)->next_by_id;
    *link = tool->next_by_id;
    free(tool);
}

static bool leads_tool(pid_t pid)
{
    return find_pid(pid) != NULL;
}

static bool tool_lives(uint32_t id)
{
    const struct tool *tool = find_id(id);
    return tool && tool->pid;
}

static const struct tools_view living = {leads_tool, tool_lives};

static void mark_ended(struct tool *tool)
{
    struct tool **link = &by_pid[tool->pid % BUCKETS];
    while (*link != tool)
        link = &(*link)->next_by_pid;
    *link = tool->next_by_pid;
    tool->pid = 0;
    forget_if_done(tool);
}

static void close_all(int *fds, int count)
{
    for (int i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void release(struct tool *tool)
{
    if (!tool->released)
        close_all(tool->held, HELD);
    tool->released = true;
    forget_if_done(tool);
}

/* --- Replies ------------------------------------------------------------------------------------------------------ */

static void reply(enum reply kind, uint32_t id, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t message[] = {kind, id, a, b, c, d};
    const char *rest = (const char *)message;
    size_t left = sizeof message;
    while (left > 0 && !gateway_gone) {
        ssize_t written = write(STDOUT_FILENO, rest, left);
        if (written >= 0) {
            rest += written;
            left -= (size_t)written;
        } else if (errno != EINTR) {
            gateway_gone = true;
        }
    }
}

/* --- Starting a tool ---------------------------------------------------------------------------------------------- */

/* Three pipes as [read, write] each, all closed on exec. */
static bool make_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) < 0) {
            const int error = errno;
            close_all(pipes[0], 2 * i);
            errno = error;
            return false;
        }
        /* A wish: the host's limits may not allow it. */
        if (i < 2)
            fcntl(pipes[i][0], F_SETPIPE_SZ, pipe_bytes);
    }
    return true;
}

static void spawn_tool(uint32_t id, struct launch *launch)
{
    int pipes[3][2];
    struct tool *tool = calloc(1, sizeof *tool);
    if (!tool)
        exit(EXIT_MEMORY);
    if (!make_pipes(pipes)) {
        reply(FAILED, id, (uint32_t)errno, STEP_PIPE, 0, 0);
        free(tool);
        return;
    }
    launch->stdio[0] = pipes[0][0];
    launch->stdio[1] = pipes[1][1];
    launch->stdio[2] = pipes[2][1];
    launch->mark = mark_of(id);
    const pid_t pid = launch_tool(launch);
    if (pid < 0) {
        close_all(pipes[0], 6);
        reply(FAILED, id, (uint32_t)launch->error, launch->step, 0, 0);
        free(tool);
        return;
    }
    close(pipes[1][1]);
    close(pipes[2][1]);
    *tool = (struct tool){.id = id, .pid = pid, .held = {pipes[0][1], pipes[1][0], pipes[2][0], pipes[0][0]}};
    add(tool);
    reply(STARTED, id, (uint32_t)pid, (uint32_t)tool->held[WRITE_STDIN], (uint32_t)tool->held[READ_STDOUT],
          (uint32_t)tool->held[READ_STDERR]);
}

/* --- Ends --------------------------------------------------------------------------------------------------------- */

/* Reaps who has ended. @returns whether there was anybody */
static bool reap(void)
{
    bool any = false;
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return any;
        any = true;
        struct tool *tool = find_pid(info.si_pid);
        if (tool)
            kill(-tool->pid, SIGKILL);
        waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
        if (!tool)
            continue;
        const bool exited = info.si_code == CLD_EXITED;
        reply(EXITED, tool->id, exited ? (uint32_t)info.si_status : 0, exited ? 0 : (uint32_t)info.si_status, 0, 0);
        mark_ended(tool);
    }
}

static _Noreturn void end_everything(void)
{
    const int64_t until = now_ms() + give_up_ms;
    gateway_gone = true;
    do {
        kill_orphans(NULL);
        reap();
        if (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
            exit(0);
        poll(NULL, 0, 1);
    } while (now_ms() < until);
    exit(0);
}

/* --- Requests ----------------------------------------------------------------------------------------------------- */

static uint32_t number_at(const char *from)
{
    uint32_t number;
    memcpy(&number, from, sizeof number);
    return number;
}

/* `count` strings from *at on, as an array that ends with NULL. */
static char **take_strings(char **at, const char *end, uint32_t count)
{
    char **strings = count <= MAX_BODY_BYTES ? calloc(count + 1, sizeof *strings) : NULL;
    if (!strings)
        exit(EXIT_MEMORY);
    for (uint32_t i = 0; i < count; i++) {
        char *nul = memchr(*at, 0, (size_t)(end - *at));
        if (!nul)
            exit(EXIT_PROTOCOL);
        strings[i] = *at;
        *at = nul + 1;
    }
    return strings;
}

static void handle_spawn(uint32_t id, char *body, uint32_t length)
{
    if (length < 8)
        exit(EXIT_PROTOCOL);
    char *at = body + 8;
    const char *end = body + length;
    char **names = take_strings(&at, end, 2);
    struct launch launch = {.command = names[0], .cwd = names[1]};
    launch.argv = take_strings(&at, end, number_at(body));
    launch.env = take_strings(&at, end, number_at(body + 4));
    spawn_tool(id, &launch);
    free(names);
    free(launch.argv);
    free(launch.env);
}

static void handle(enum request kind, uint32_t id, char *body, uint32_t length)
{
    struct tool *tool = find_id(id);
    if (kind == SPAWN && !tool)
        handle_spawn(id, body, length);
    else if (kind == SIGNAL && length == 4) {
        if (tool && tool->pid)
            kill(-tool->pid, (int)number_at(body));
    } else if (kind == RELEASE && length == 0) {
        if (tool)
            release(tool);
    } else
        exit(EXIT_PROTOCOL);
}

/* Reads what is there and handles every whole request. */
static void read_requests(void)
{
    static char *buffer;
    static size_t size, used;
    if (size - used < 65536) {
        size = size ? 2 * size : 131072;
        buffer = realloc(buffer, size);
        if (!buffer)
            exit(EXIT_MEMORY);
    }
    const ssize_t length = read(STDIN_FILENO, buffer + used, size - used);
    if (length <= 0) {
        gateway_gone = gateway_gone || length == 0 || (errno != EINTR && errno != EAGAIN);
        return;
    }
    used += (size_t)length;
    size_t at = 0;
    while (used - at >= HEADER_BYTES) {
        const uint32_t body = number_at(buffer + at);
        if (body > MAX_BODY_BYTES)
            exit(EXIT_PROTOCOL);
        if (used - at - HEADER_BYTES < body)
            break;
        char *start_of_body = buffer + at + HEADER_BYTES;
        handle(number_at(buffer + at + 4), number_at(buffer + at + 8), start_of_body, body);
        at += HEADER_BYTES + body;
    }
    memmove(buffer, buffer + at, used - at);
    used -= at;
}

/* --- Life --------------------------------------------------------------------------------------------------------- */

/* @returns a descriptor that is readable when a child has ended */
static int set_up(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t deaths;
    syscall(SYS_close_range, 3, ~0U, 0);
    for (int number = 1; number < SIGRTMIN; number++)
        sigaction(number, &by_default, NULL);
    ignore_signals();
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    sigprocmask(SIG_SETMASK, &deaths, NULL);
    const int fd = signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || chdir("/") < 0)
        exit(EXIT_SETUP);
    return fd;
}

/* Waits for requests and for deaths; `look_at`, unless 0, is when to look for orphans again. */
static void serve(int deaths)
{
    struct pollfd watched[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = deaths, .events = POLLIN}};
    struct signalfd_siginfo seen[16];
    int64_t look_at = 0;
    while (!gateway_gone) {
        const int64_t wait = look_at - now_ms();
        if (poll(watched, 2, look_at == 0 ? -1 : wait < 0 ? 0 : (int)wait) < 0 && errno != EINTR)
            exit(EXIT_SETUP);
        while (read(deaths, seen, sizeof seen) > 0)
            ;
        const bool reaped = reap();
        if (reaped || (look_at != 0 && now_ms() >= look_at))
            look_at = kill_orphans(&living) || reaped ? now_ms() + look_again_ms : 0;
        if (watched[0].revents)
            read_requests();
    }
}

int main(int argc, char **argv)
{
    char *end = NULL;
    const uint64_t mark = argc == 2 ? strtoull(argv[1], &end, 16) : 0;
    if (!end || *end || !set_first_mark(mark))
        exit(EXIT_USAGE);
    const int deaths = set_up();
    kill_leftovers(give_up_ms);
    reply(READY, 0, PROTOCOL_VERSION, 0, 0, 0);
    serve(deaths);
    end_everything();
}
