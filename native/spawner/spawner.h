/* What the parts of the spawner share; spawner.c says what the program is. */
#ifndef SPAWNER_H
#define SPAWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum step { STEP_PIPE = 1, STEP_FORK, STEP_SETUP, STEP_CHDIR, STEP_EXEC };

/* --- launch.c: starts one executable ------------------------------------------------------------------------------ */

struct launch {
    const char *command, *cwd;
    char **argv, **env;
    int stdio[3];
    uint64_t mark;
    /* Written by the child, which shares this memory until it executes. */
    volatile int error;
    volatile enum step step;
};

/* What the spawner ignores, and tools do not. */
void ignore_signals(void);

/* Starts it as the leader of a session and a group of its own. @returns its pid; -1 with `error` and `step` set */
pid_t launch_tool(struct launch *launch);

/* --- descendants.c: finds and ends what tools leave behind -------------------------------------------------------- */

/* Settles the marks: the one given, or a lower one where a limit of the spawner's own stands in the way. */
bool set_first_mark(uint64_t mark);
uint64_t mark_of(uint32_t id);

/* Whether a child is the leader of a tool, and whether the tool of this id lives. */
struct tools_view {
    bool (*leads)(pid_t pid);
    bool (*lives)(uint32_t id);
};

/* Kills the children that no living tool answers for; all of them without a view. @returns whether there were any */
bool kill_orphans(const struct tools_view *tools);

/* Kills what a spawner with the same mark left behind when it was killed, within so many milliseconds. */
void kill_leftovers(int within_ms);

int64_t now_ms(void);

#endif
