import Foundation
import HabitStore
import HabitStoreRollout

/// Writes and reads the store that is open, and tells what came of it.
struct TangleWriter: Sendable {
    let progress: TangleProgress

    /// How long a failed write rests: what stands in its way may take a moment.
    private static let restSeconds = 0.01

    func write(from first: Int) {
        var number = first
        while !progress.isEnded {
            var hasFailed = false
            progress.doing {
                guard let store = progress.present?.store else {
                    hasFailed = true
                    return
                }
                hasFailed = !write(number, store)
                number += 1
            }
            if hasFailed { Thread.sleep(forTimeInterval: Self.restSeconds) }
        }
    }

    private func write(_ number: Int, _ store: UserStore) -> Bool {
        Report.Line.begun.tell("\(number)")
        do {
            try store.write(author: "write \(number)") { try TangleWorkload.write(number, in: $0) }
            Report.Line.acknowledged.tell("\(number)")
            progress.acknowledged.store(number, ordering: .sequentiallyConsistent)
            return true
        } catch let error as HabitStoreError where error.code == .outcomeUnknown {
            Report.Line.unknown.tell("\(number)")
        } catch {
            Report.Line.failed.tell("\(number) \(Report.text(error))")
        }
        return false
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

    /// A reader sees a state between two writes, and the last one that this process was told of.
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
            if !isThere { Report.Line.violation.tell("a read lacks the acknowledged write \(last)") }
        } catch {
            Report.Line.notMoved.tell("read: \(Report.text(error))")
        }
    }
}
