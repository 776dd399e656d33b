"""Jobs of the real program that a signal ends at a random moment."""

import functools
import os
import pathlib
import signal

import whole_process  # below tests/cli, where real_jobs found it
from real_cases import RealMachine, examine_end, inputs, references, room, wait_for_a_moment
from real_jobs import JOBS, Place, children_of, deal_options, wait_for_helpers
from whole_process import PATIENCE_SECONDS


class Kills(RealMachine):
    """A job that a signal ends at a random moment."""

    def test_kill(self):
        self.run_kills(0.4, signal.SIGKILL)

    def test_term(self):
        self.run_kills(0.1, signal.SIGTERM)

    def test_int(self):
        self.run_kills(0.1, signal.SIGINT)

    def test_hup(self):
        self.run_kills(0.1, signal.SIGHUP)

    def test_term_then_kill(self):
        self.run_kills(0.1, signal.SIGTERM, signal.SIGKILL)

    def test_int_of_the_group(self):
        self.run_kills(0.1, signal.SIGINT, to_group=True)

    def test_kill_of_a_helper(self):
        self.run_cases(kill_helper, round(0.1 * whole_process.OPTIONS.kills))

    def run_kills(self, share, *numbers, to_group=False):
        self.run_cases(functools.partial(kill_program, numbers=numbers, to_group=to_group),
                       round(share * whole_process.OPTIONS.kills))


# Without /proc an unnamed file cannot get its name later: the output has a temporary one from the start.
WITHOUT_PROC = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh")


def kill_program(case, numbers, to_group):
    dealt = case.dealt
    job = dealt.choice(JOBS)
    new, seconds = references[job]
    prefix = WITHOUT_PROC if dealt.random() < 0.1 else ()
    options = deal_options(dealt, job)
    with room(dealt) as directory:
        place = Place(pathlib.Path(directory) / "place", job, inputs(), has_old=dealt.random() < 0.8)
        with place.started(options, prefix) as process:
            moment = wait_for_a_moment(process, place, dealt, seconds)
            for number in numbers:
                if not to_group:
                    process.send_signal(number)
                elif process.poll() is None:
                    os.killpg(process.pid, number)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        helpers = wait_for_helpers()
        status = process.returncode
        case.story = f"{place.command(options)} {'without /proc' if prefix else ''} {moment}: exit {status} {said}"
        case.expect("no process is left", not helpers, helpers)
        case.expect("the exit status says how it ended", status == 0 or -status in numbers, status)
        if status == 0:
            case.examine(place, new, "new")
            case.outcomes["it was faster"] += 1
        else:
            found = case.examine(place, new, "old", "new", may_leave_names=status == -signal.SIGKILL)
            case.outcomes[f"{found} output{', a temporary name' if place.temp_names() else ''}"] += 1
        if place.temp_names() or dealt.random() < 0.1:
            run_again_later(case, place, new)


def run_again_later(case, place, new):
    """The day after: the job runs as ever, and removes what had been left."""
    if place.job.old and place.found(new) == "new":
        return  # it is not its input any more
    for name in place.temp_names():
        os.utime(place.path / "out" / name, times=(0, 0))
    status, said = place.run()
    case.story += f"; again: exit {status} {said}"
    case.expect("what ended can be run again", status == 0)
    case.examine(place, new, "new")


def kill_helper(case):
    """A program that compresses scratch is killed: its end is noticed."""
    dealt = case.dealt
    job = next(job for job in JOBS if "--compress-program" in job.command)
    new, seconds = references[job]
    options = [*deal_options(dealt, job), "-S4M"]
    with room(dealt) as directory:
        place = Place(pathlib.Path(directory) / "place", job, inputs())
        with place.started(options) as process:
            moment = wait_for_a_moment(process, place, dealt, seconds)
            helper = kill_one_of(children_of(process.pid), dealt)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        status = process.returncode
        case.story = f"{place.command(options)} {moment}, helper {helper}: exit {status} {said}"
        case.expect("no process is left", not wait_for_helpers())
        case.expect("it fails only if there is a reason", status == 0 or helper)
        examine_end(case, place, new, status, said.decode(errors="replace"))
        case.outcomes["none to kill" if helper is None else f"exit {status}"] += 1


def kill_one_of(processes, dealt):
    for process in dealt.sample(processes, len(processes)):
        try:
            os.kill(process, signal.SIGKILL)
            return process
        except ProcessLookupError:
            pass
    return None
