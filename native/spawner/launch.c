/* Starts one executable, by vfork: nothing is copied, and an exec that failed is known when vfork returns. */
#define _GNU_SOURCE
#include "spawner.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};

void ignore_signals(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        sigaction(ignored[i], &ignore, NULL);
}

static _Noreturn void fail_launch(struct launch *launch, enum step step)
{
    launch->error = errno;
    launch->step = step;
    _exit(127);
}

/* Where memory runs out the kernel ends a tool, and not the server. A kernel that lets nobody say so keeps its own order. */
static void be_first_to_go(void)
{
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) < 0)
        errno = 0;
    close(fd);
}

/* Runs in the child, on the spawner's memory: it changes nothing there but `launch` and `environ`. */
static _Noreturn void become_tool(struct launch *launch, pid_t parent)
{
    const struct rlimit mark = {launch->mark, launch->mark};
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setrlimit(RLIMIT_LOCKS, &mark) < 0)
        fail_launch(launch, STEP_SETUP);
    be_first_to_go();
    /* The spawner died before it could be told to: nobody would end this process. */
    if (getppid() != parent)
        _exit(127);
    for (int fd = 0; fd < 3; fd++)
        if (dup2(launch->stdio[fd], fd) < 0)
            fail_launch(launch, STEP_SETUP);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        sigaction(ignored[i], &by_default, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(launch->cwd) < 0)
        fail_launch(launch, STEP_CHDIR);
    /* execvp looks a bare name up in the PATH of `environ`: that shall be the tool's own. */
    environ = launch->env;
    execvp(launch->command, launch->argv);
    fail_launch(launch, STEP_EXEC);
}

pid_t launch_tool(struct launch *launch)
{
    char **volatile own_environment = environ;
    const volatile pid_t self = getpid();
    const volatile pid_t pid = vfork();
    if (pid == 0)
        become_tool(launch, self);
    environ = own_environment;
    if (pid < 0) {
        launch->error = errno;
        launch->step = STEP_FORK;
    } else if (launch->error) {
        waitpid(pid, NULL, 0);
        return -1;
    }
    return pid;
}
