import Foundation
import HabitStore
import HabitStoreRollout

/// Writes to and reads from the open store, and reports the results.
struct TangleWriter: Sendable {
    let progress: TangleProgress
    /// Whether a trouble may last until the end.
    let isTroubled: Bool
    /// The pause after each write.
    let restMilliseconds: Int

    /// The pause after a failed write: its cause may take a moment to pass.
    private static let restSeconds = 0.01

    /// A verification takes longer with each write, and never ends on a busy machine if the writers do not slow down: after the first of these, the
    /// pause grows by a millisecond with as many writes as the second says.
    private static let (fastWrites, writesPerMillisecond) = (500, 10)

    /// Errors that an intact process must never get, and errors that it gets only while the system refuses it something.
    private static let never: Set<HabitStoreError.Code> = [.staleStore, .fileMoved, .corrupt, .notAStore]
    private static let passing: Set<HabitStoreError.Code> = [
        .inputOutput, .full, .permissionDenied, .limitExceeded, .engineUnavailable, .outcomeUnknown, .closed,
    ]

    /// How long a cause of failures may last at the end, in seconds.
    private static let lastSeconds = 4.0

    /// Writes until the process has to end, and then once more: only a kill may prevent that write in an intact process.
    func write(from first: Int) {
        let number = writeAll(from: first)
        guard let store = progress.present?.store else { return }
        let deadline = ContinuousClock.now + .seconds(Self.lastSeconds)
        for number in number... {
            do {
                return try write(number, to: store)
            } catch let error as HabitStoreError
                where Self.never.contains(error.code) || !isTroubled && Self.passing.contains(error.code)
            {
                guard ContinuousClock.now < deadline else {
                    return Report.Line.violation.tell("the process cannot write: \(Report.text(error))")
                }
                Thread.sleep(forTimeInterval: Self.restSeconds)
            } catch {
                return
            }
        }
    }

    private func writeAll(from first: Int) -> Int {
        var number = first
        while !progress.isEnded {
            var hasFailed = false
            progress.doing {
                guard let store = progress.present?.store else {
                    hasFailed = true
                    return
                }
                hasFailed = (try? write(number, to: store)) == nil
                number += 1
            }
            if hasFailed { Thread.sleep(forTimeInterval: Self.restSeconds) }
            let pause = restMilliseconds + max(0, number - first - Self.fastWrites) / Self.writesPerMillisecond
            if pause > 0 { Thread.sleep(forTimeInterval: Double(pause) / 1_000) }
        }
        return number
    }

    /// Writes, and reports the result.
    private func write(_ number: Int, to store: UserStore) throws {
        Report.Line.begun.tell("\(number)")
        do {
            try store.write(author: TangleWorkload.author(number)) { try TangleWorkload.write(number, in: $0) }
            Report.Line.acknowledged.tell("\(number)")
            progress.acknowledged.store(number, ordering: .sequentiallyConsistent)
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            Report.Line.unknown.tell("\(number)")
            throw error
        } catch {
            Report.Line.failed.tell("\(number) \(Report.text(error))")
            throw error
        }
    }

    func read() {
        while !progress.isEnded {
            progress.doing {
                guard let store = progress.present?.store else { return }
                read(store)
            }
            Thread.sleep(forTimeInterval: 0.001)
        }
    }

    /// A reader sees a state between two writes that includes this process's last acknowledged write.
    private func read(_ store: UserStore) {
        let last = progress.acknowledged.load(ordering: .sequentiallyConsistent)
        do {
            let (wrong, isThere) = try store.read { transaction in
                (
                    try TangleWorkload.contradiction(transaction),
                    last == 0 ? true : try TangleWorkload.has(last, transaction)
                )
            }
            if let wrong { Report.Line.violation.tell("a read: \(wrong)") }
            if !isThere { Report.Line.violation.tell("a read misses the acknowledged write \(last)") }
        } catch {
            Report.Line.notMoved.tell("read: \(Report.text(error))")
        }
    }
}
