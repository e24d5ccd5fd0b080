import CYardstick
import Foundation

/// Counts the costs of each work.
struct CheckRun {
    private let directory: URL

    init(_ directory: URL) { self.directory = directory }

    func measure() throws -> [(name: String, counts: SteadyCounts)] {
        guard cy_counts_allocations() == 1 else {
            throw BenchError("allocations are counted with glibc only")
        }
        let works = try CheckedWork.all(directory)
        let instructions = try Callgrind(directory).instructions()
        guard instructions.count == works.count else {
            throw BenchError("callgrind counted \(instructions.count) works, not \(works.count)")
        }
        let counted = try zip(works, instructions).map { work, instructions -> (name: String, counts: SteadyCounts) in
            let counts = SteadyCounts(
                allocations: try allocations(work),
                examined: try work.examined?(),
                instructions: instructions / work.operations
            )
            return (work.name, counts)
        }
        return counted + (try LiveCounts(directory).measure())
    }

    /// The second time counts: the first one fills caches.
    private func allocations(_ work: CheckedWork) throws -> Double {
        try Self.twice(work) { body in
            let before = cy_thread_allocations()
            try body()
            return (Double(cy_thread_allocations() - before) / Double(work.operations) * 100).rounded() / 100
        }
    }

    private static func twice<R>(_ work: CheckedWork, _ count: (() throws -> Void) throws -> R) throws -> R {
        try work.prepare()
        try work.body()
        try work.prepare()
        return try count(work.body)
    }

    /// Runs under callgrind.
    static func runChild() {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("habitstore-check-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            for work in try CheckedWork.all(directory) { try twice(work, measured) }
        } catch {
            FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Calls the body through the function at which callgrind starts and stops.
    private static func measured(_ body: () throws -> Void) throws {
        try withoutActuallyEscaping(body) { body in
            let call = MeasuredCall(body)
            cy_measured(
                { context in
                    guard let context else { return }
                    Unmanaged<MeasuredCall>.fromOpaque(context).takeUnretainedValue().run()
                },
                Unmanaged.passUnretained(call).toOpaque()
            )
            if let failure = call.failure { throw failure }
        }
    }
}

/// Carries a body through C.
private final class MeasuredCall {
    private let body: () throws -> Void
    private(set) var failure: (any Error)?

    init(_ body: @escaping () throws -> Void) { self.body = body }

    func run() {
        do { try body() } catch { failure = error }
    }
}
