import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting

#if canImport(Glibc)
import Glibc
#endif

/// Shuts a file system down under children, so that everything that was not synced is lost, and checks what each has left.
struct PowerCutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "power-cut",
        abstract: "Shut down an ext4 file system under a running child, mount it again, and check the stores.",
        discussion: "scripts/power-cut.sh makes the image. Needs root, loop devices and Linux."
    )

    @Option(help: "An image of an ext4 file system.")
    var image: String

    @Option(help: "The mount point.")
    var mount: String

    @Option(help: "How many times to cut the power.")
    var cuts = 200

    @OptionGroup var options: SweepOptions

    func run() throws {
        let seed = options.printedSeed()
        let folder = try options.makeFolder("cut")
        defer { try? FileManager.default.removeItem(at: folder) }
        let templates = try Templates(in: folder)
        let disk = Disk(image: image, mount: mount)
        var figures = SweepFigures()
        let started = Date()
        for number in 0..<cuts {
            let scenario = Scenario(seed: seed, number: number)
            // The flag file is not part of the stores, and must stay writable when their disk is gone.
            let flags = StageFlags(path: folder.appendingPathComponent("flags.json").path, scenario.pair)
            try run(scenario, flags, templates, disk, &figures)
            fflush(nil)
        }
        try figures.conclude(since: started, isVerbose: true, expects: [])
    }

    private func run(
        _ scenario: Scenario,
        _ flags: StageFlags,
        _ templates: Templates,
        _ disk: Disk,
        _ figures: inout SweepFigures
    ) throws {
        try disk.attach()
        let root = URL(fileURLWithPath: mount).appendingPathComponent("root")
        if FileManager.default.fileExists(atPath: root.path) { try FileManager.default.removeItem(at: root) }
        let base =
            scenario.isNew
            ? [] : try templates.copy(scenario.start, scenario.pair, hasLongEvidence: scenario.isFiling, to: root)
        try flags.want(scenario.start)
        try disk.synchronize()
        let child = try ChildProcess.run(
            scenario.arguments(root: root, flags: flags, first: (base.max() ?? 0) + 1),
            as: "crash-child",
            crashPoint: nil,
            lifetimeSeconds: Self.startingSeconds + scenario.lifetimeSeconds
        ) { process in
            try Self.halt(process)
            try disk.cutPower()
        }
        var report = Report()
        report.take(child)
        figures.died(at: "power cut")
        try disk.detach()
        try disk.attach()
        let outcome = Recovery(root: root.path, flags: flags, base: base, report: report).check()
        for violation in outcome.violations { print("VIOLATION \(scenario): \(violation)") }
        figures.add(scenario, report, outcome)
        try disk.detach()
    }

    /// Stops all threads of a child, as a power cut stops the processor together with the disk.
    ///
    /// This must come before the cut: if a file system is shut down during a sync, Linux can report the sync as successful (seen with ext4 and one
    /// file, in a
    /// quarter of all cuts), and a running process would believe it.
    private static func halt(_ process: Int32) throws {
        guard kill(process, SIGSTOP) == 0 else { throw ValidationError("the child exited before the cut") }
        let deadline = Date(timeIntervalSinceNow: haltingSeconds)
        while try !isHalted(process) {
            guard Date() < deadline else { throw ValidationError("cannot stop the child") }
        }
    }

    private static func isHalted(_ process: Int32) throws -> Bool {
        let tasks = "/proc/\(process)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { task in
            // A thread that has ended meanwhile is gone from the folder, and counts as stopped.
            guard let text = FileManager.default.contents(atPath: "\(tasks)/\(task)/stat") else { return true }
            let state = String(decoding: text, as: UTF8.self).split(separator: ")").last?.first { $0 != " " }
            return state == "T"
        }
    }

    private static let haltingSeconds = 10.0
    /// The minimum time before the cut, in seconds, so that most cuts come while the child writes.
    private static let startingSeconds = 0.1
}

/// A file system in an image with a power switch.
struct Disk {
    let image: String
    let mount: String

    /// Mounts it; the file system replays its journal if necessary.
    func attach() throws { try Self.command("mount", "-o", "loop", image, mount) }

    /// Unmounts it. A thread that is closing files, or a child that is being killed, may keep it busy for a moment.
    func detach() throws {
        let deadline = Date(timeIntervalSinceNow: Self.detachingSeconds)
        while true {
            do { return try Self.command("umount", mount, errors: .discarded) } catch  where Date() < deadline {
                usleep(Self.detachingPauseMicroseconds)
            }
        }
    }

    /// Syncs everything written so far to the disk.
    func synchronize() throws { try Self.command("sync", "--file-system", mount) }

    /// Drops everything that was not synced, even the journal's log.
    func cutPower() throws {
        #if os(Linux)
        let folder = open(mount, O_RDONLY)
        guard folder >= 0 else { throw Self.error("cannot open the mounted folder") }
        defer { close(folder) }
        var flags = Self.withoutLogFlush
        guard ioctl(folder, Self.shutdownRequest, &flags) == 0 else {
            throw Self.error("cannot shut down the file system")
        }
        #else
        throw HabitStoreError(.unsupported, "power cuts need Linux")
        #endif
    }

    private static let detachingSeconds = 10.0
    private static let detachingPauseMicroseconds: UInt32 = 20_000

    /// `_IOR('X', 125, uint32_t)`: EXT4_IOC_SHUTDOWN, the same number as XFS's.
    private static let shutdownRequest: UInt = 0x8004_587D
    /// EXT4_GOING_FLAGS_NOLOGFLUSH.
    private static let withoutLogFlush: UInt32 = 2

    private static func error(_ what: String) -> HabitStoreError {
        HabitStoreError(.inputOutput, "\(what): \(String(cString: strerror(errno)))")
    }

    private static func command(_ arguments: String..., errors: ChildProcess.Destination = .inherited) throws {
        let program = arguments[0]
        guard try ChildProcess.run(program, Array(arguments.dropFirst()), output: .inherited, errors: errors).isSuccess
        else {
            throw HabitStoreError(.inputOutput, "\(arguments.joined(separator: " ")) failed")
        }
    }
}
