import Foundation
import HabitStore
import RolloutTesting
import Testing

@testable import HabitStoreFleet

/// Neither the processes that a hook leaves running nor the folder that it lies in may stop a fleet or change what it executes.
@Suite(.timeLimit(.minutes(5)))
struct HookProgramTests {
    private let test: TestFleet
    private let folder: String

    init() throws {
        test = try TestFleet(1)
        folder = test.user.folder.path("hooks")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o755)
    }

    private func program(_ commands: String, at path: String? = nil) throws -> FleetPlan.Hook {
        let path = path ?? folder + "/hook"
        try Data("#!/bin/sh\n\(commands)\n".utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o755)
        var hook = FleetPlan.Hook(name: "hook", program: path)
        hook.timeoutSeconds = 60
        return hook
    }

    private func deliver(_ hook: FleetPlan.Hook) throws {
        try HookProgram.deliver(HookMessage(event: "test", delivery: "1", body: Data()), to: hook)
    }

    /// Deliveries used to wait for everything that had inherited a descriptor of the hook, and for a process in another session forever: without
    /// a failure, without another try, and `fleet halt` did not return.
    @Test(arguments: ["", "setsid "])
    func itsExitCodeCountsWhileItsChildrenLive(_ command: String) throws {
        let child = folder + "/child"
        let start = "\(command)sh -c 'echo $$ >\(child); exec sleep 600' &"
        let hook = try program("\(start) while [ ! -s \(child) ]; do :; done")
        defer { endProcess(namedIn: child) }
        try deliver(hook)
        try program("\(command)sleep 1 & exit 7").deliverFails("ended with exit code 7")
    }

    @Test func oneThatDoesNotEndIsStoppedThoughItsChildIsInAnotherSession() throws {
        let child = folder + "/child"
        var hook = try program("setsid sh -c 'echo $$ >\(child); exec sleep 600' & sleep 600")
        defer { endProcess(namedIn: child) }
        hook.timeoutSeconds = 2
        try hook.deliverFails("did not finish within 2.0 seconds")
    }

    /// Its errors went to a file that had no name any more, and a child that the hook left behind filled the disk with it, seen by nobody.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setsid"), "needs setsid"))
    func aChildThatWritesWithoutEndLosesItsReader() throws {
        let child = folder + "/child"
        let write = "setsid sh -c 'echo $$ >\(child); exec cat /dev/zero >&2' &"
        let hook = try program("\(write) while [ ! -s \(child) ]; do :; done; sleep 1; echo done >&2; exit 3")
        defer { endProcess(namedIn: child) }
        try hook.deliverFails("ended with exit code 3")
        let words = try String(contentsOfFile: child, encoding: .utf8).split(whereSeparator: \.isNewline)
        let id = try #require(words.first.flatMap { Int32($0) })
        for _ in 0..<600 where try isRunning(id) { usleep(100_000) }
        #expect(try !isRunning(id))
    }

    /// Larger than a pipe: the rest is written while the program reads.
    @Test(arguments: [0, 1, 65_536, 1_000_000])
    func itGetsItsWholeMessage(_ count: Int) throws {
        let hook = try program(#"[ "$(wc -c)" -eq \#(count) ] || exit 3; cat /dev/stdin >&2; exit 0"#)
        let message = HookMessage(event: "test", delivery: "1", body: Data(repeating: 0x20, count: count))
        try HookProgram.deliver(message, to: hook)
    }

    /// The write to a pipe without a reader must not end this process.
    @Test func oneThatClosesItsInputGetsNoMore() throws {
        let hook = try program("exec <&-; sleep 1; echo 'closed' >&2; exit 4")
        let message = HookMessage(event: "test", delivery: "1", body: Data(repeating: 0x20, count: 1_000_000))
        #expect { try HookProgram.deliver(message, to: hook) } throws: { "\($0)" == "ended with exit code 4: closed" }
    }

    private func endProcess(namedIn path: String) {
        let words = (try? String(contentsOfFile: path, encoding: .utf8))?.split(whereSeparator: \.isNewline)
        if let id = words?.first.flatMap({ Int32($0) }) { kill(id, SIGKILL) }
    }

    /// A lock that a hook's child inherits would be held after the run has ended.
    @Test func itInheritsNoFile() throws {
        let lock = open(folder + "/lock", O_CREAT | O_RDWR, 0o600)
        defer { close(lock) }
        #expect(lock > 2)
        let out = folder + "/open"
        try deliver(program("(: <&\(lock)) 2>/dev/null && exit 5; echo done >\(out)"))
        #expect(FileManager.default.fileExists(atPath: out))
    }

    /// The program was its owner's alone, but others could exchange it: its folder was theirs to write to.
    @Test func aProgramThatOthersMayExchangeIsRefused() throws {
        chmod(folder, 0o777)
        let hook = try program("exit 0")
        try hook.checkFails("others may change the hook program by \(folder)")
        try hook.deliverFails("others may change")
        chmod(folder, 0o1777)
        try deliver(hook)
        chmod(folder, 0o755)
        try deliver(hook)
    }

    /// The program was its owner's alone, but its first line named an interpreter that everybody could write, and the run executed that.
    @Test func anInterpreterThatOthersMayChangeIsRefused() throws {
        let (open, script) = (folder + "/open", folder + "/script")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: true)
        let interpreter = open + "/interpreter"
        let hook = FleetPlan.Hook(name: "hook", program: script)
        for (first, words) in [
            (interpreter, "the interpreter that the first line of \(script) names; make it yours"),
            (" \t\(interpreter) -e", "others may change the interpreter"),
        ] {
            _ = try program("exit 0", at: interpreter)
            try Data("#!\(first)\n".utf8).write(to: URL(fileURLWithPath: script))
            chmod(script, 0o755)
            chmod(open, 0o755)
            try HookProgram(hook).check()
            chmod(interpreter, 0o777)
            try hook.checkFails(words)
            chmod(interpreter, 0o755)
            chmod(open, 0o777)
            try hook.checkFails("names by \(open); make that yours")
        }
        // The interpreter is a script itself.
        chmod(open, 0o755)
        let inner = folder + "/inner"
        _ = try program("exit 0", at: inner)
        try Data("#!\(inner)\n".utf8).write(to: URL(fileURLWithPath: interpreter))
        try HookProgram(hook).check()
        chmod(inner, 0o777)
        try hook.checkFails("the interpreter that the first line of \(interpreter) names")
    }

    /// The error was "No such file or directory" for a program that was there.
    @Test(arguments: [
        ("/no/such/shell", "is missing; install it, or correct that line"),
        ("/bin/sh\r", "ends with a carriage return"),
        ("sh", "must be a path that begins with /"),
        ("/dev/null", "is not a regular file"),
    ])
    func anInterpreterThatCannotBeExecutedIsNamed(_ interpreter: String, _ words: String) throws {
        let script = folder + "/script"
        try Data("#!\(interpreter)\nexit 0\n".utf8).write(to: URL(fileURLWithPath: script))
        chmod(script, 0o755)
        let hook = FleetPlan.Hook(name: "hook", program: script)
        try hook.checkFails("the interpreter that the first line of \(script) names \(words)")
        try hook.deliverFails(words)
    }

    /// The advice was to `chmod +x` a folder or a device.
    @Test func aProgramThatIsNotARegularFileIsCalledThat() throws {
        for path in [folder, "/dev/null"] {
            try FleetPlan.Hook(name: "hook", program: path).checkFails("the hook program is not a regular file")
        }
    }

    @Test func aLinkThatOthersMayExchangeIsRefused() throws {
        let (open, link) = (folder + "/open", folder + "/link")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: true)
        chmod(open, 0o777)
        _ = try program("exit 0")
        try FileManager.default.createSymbolicLink(atPath: open + "/hook", withDestinationPath: "../hook")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "open/hook")
        for path in [open + "/hook", link, open + "/../link"] {
            try FleetPlan.Hook(name: "hook", program: path).checkFails("by \(open)")
        }
        chmod(open, 0o755)
        for path in [open + "/hook", link, open + "/../link"] {
            try HookProgram(FleetPlan.Hook(name: "hook", program: path)).check()
        }
        // Whoever owns a link may exchange it in any folder.
        guard geteuid() == 0 else { return }
        lchown(link, 1, 1)
        try FleetPlan.Hook(name: "hook", program: link).checkFails("others may change the hook program;")
        lchown(link, 0, 0)
        chown(open, 1, 1)
        try FleetPlan.Hook(name: "hook", program: link).checkFails("by \(open)")
    }
}

extension FleetPlan.Hook {
    fileprivate func deliverFails(_ words: String) throws {
        #expect {
            try HookProgram.deliver(HookMessage(event: "test", delivery: "1", body: Data()), to: self)
        } throws: {
            "\($0)".contains(words)
        }
    }

    fileprivate func checkFails(_ words: String) throws {
        #expect { try HookProgram(self).check() } throws: { "\($0)".contains(words) }
    }
}
