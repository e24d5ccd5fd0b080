import ArgumentParser
import CSystemFaults
import Foundation
import HabitStoreTesting
import Synchronization

/// Causes troubles in one process of the concurrent sweep while it works, and ends them again.
final class ConcurrentNemesis: Sendable {
    private struct Present {
        let trouble: ConcurrentTrouble
        /// The number of failed calls before.
        let failed: UInt64
        /// The previous limit.
        let limit: UInt64
    }

    private struct State {
        var isOver = false
        var present: Present?
    }

    private let troubles: [ConcurrentTrouble]
    private let isLasting: Bool
    private let state = Mutex(State())

    /// Prefixes of the names of the files on which calls fail.
    private static let files: [StaticString] = [
        "evidence", "control", "switch.lock", "copy.lock", "store.", "habit-store.",
    ]
    private static let pauseSeconds = 0.01...0.25
    private static let troubleSeconds = 0.02...0.4
    /// How much more of a resource the process may use than it does.
    private static let more: [ResourceLimit: ClosedRange<UInt64>] = [
        .descriptors: 0...12, .memory: 0...(64 << 20), .fileSize: 0...(256 << 10),
    ]

    /// - Parameter isLasting: whether the first trouble lasts until the process ends.
    init(_ troubles: [ConcurrentTrouble], isLasting: Bool) {
        self.troubles = troubles.filter(\.isPossible)
        self.isLasting = isLasting
        // A file that cannot grow fails the write, instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Causes troubles until ``end()``.
    func work(_ seeded: SeededGenerator) {
        var generator = seeded
        // Half of them begin before the stores are opened.
        if Bool.random(using: &generator) { Thread.sleep(forTimeInterval: 0.3) }
        while let trouble = troubles.randomElement(using: &generator) {
            guard begin(trouble, &generator), !isLasting else { return }
            Thread.sleep(forTimeInterval: Double.random(in: Self.troubleSeconds, using: &generator))
            lift()
            Thread.sleep(forTimeInterval: Double.random(in: Self.pauseSeconds, using: &generator))
        }
    }

    /// Ends the current trouble unless it is lasting, and causes no more.
    func end() {
        state.withLock { $0.isOver = true }
        if !isLasting { lift() }
    }

    private func begin(_ trouble: ConcurrentTrouble, _ generator: inout SeededGenerator) -> Bool {
        let file = Self.files.randomElement(using: &generator) ?? ""
        let more = trouble.limit.flatMap { Self.more[$0] }.map { UInt64.random(in: $0, using: &generator) } ?? 0
        return state.withLock { state in
            guard !state.isOver else { return false }
            // Reporting it needs memory.
            Report.Line.done.tell(
                trouble.limit == nil ? "\(trouble.rawValue) \(file)" : "\(Self.limited) \(trouble.rawValue)"
            )
            do {
                var before: UInt64 = 0
                if let limit = trouble.limit { before = try limit.set((limit.used ?? 0) + more) }
                state.present = Present(trouble: trouble, failed: system_faults_count(), limit: before)
            } catch {
                Report.Line.violation.tell("cannot set a limit: \(error)")
                return false
            }
            if let error = trouble.error {
                file.withUTF8Buffer { name in
                    name.withMemoryRebound(to: CChar.self) { system_faults_fail($0.baseAddress, error) }
                }
            }
            return true
        }
    }

    /// Reported before a limit is set.
    static let limited = "limited"

    private func lift() {
        state.withLock { state in
            guard let present = state.present else { return }
            state.present = nil
            system_faults_fail(nil, 0)
            do {
                try present.trouble.limit?.set(present.limit)
            } catch {
                Report.Line.violation.tell("cannot lift a limit: \(error)")
            }
            guard present.trouble.limit == nil else { return }
            let isMet = system_faults_count() > present.failed
            Report.Line.done.tell("\(present.trouble.rawValue): \(isMet ? "calls" : "no call") failed")
        }
    }
}

/// A trouble that a process of the concurrent sweep causes itself now and then: system calls that fail.
enum ConcurrentTrouble: String, CaseIterable, ExpressibleByArgument {
    /// Too many open files.
    case descriptors
    /// Too much address space.
    case memory
    /// Files that grow beyond some size.
    case fileSize
    /// No space for a file, no changes to it, or any access to it.
    case full, readOnly, broken

    /// The error number of failing calls; nil if a limit of the process makes them fail.
    var error: Int32? {
        switch self {
        case .descriptors, .memory, .fileSize: nil
        case .full: ENOSPC
        case .readOnly: EROFS
        case .broken: EIO
        }
    }

    /// The limit that makes calls fail.
    var limit: ResourceLimit? {
        switch self {
        case .descriptors: .descriptors
        case .memory: .memory
        case .fileSize: .fileSize
        case .full, .readOnly, .broken: nil
        }
    }

    /// Whether this system supports it.
    var isPossible: Bool { limit.map { $0.used != nil } ?? system_faults_are_supported() }
}
