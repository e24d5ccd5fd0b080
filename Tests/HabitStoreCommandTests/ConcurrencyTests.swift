import Foundation
import Synchronization
import Testing

/// Processes that use one user's store at the same time lose nothing.
struct ConcurrencyTests {
    @Test(arguments: ["sqlite", "lmdb"])
    func checkInsOfManyProcessesAtOnceAllArrive(engine: String) throws {
        let sandbox = try Sandbox()
        try sandbox.want(engine)
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 12) { number in
            do {
                let run = try sandbox.run("checkin", "Run", "--value", "\(number)")
                if run.status != 0 { failures.withLock { $0.append(run.errors) } }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        let entries = try sandbox.run("entry", "list", "Run", "--format", "json").list("entries")
        #expect(Set(entries.compactMap { $0["value"] as? Double }) == Set((0..<12).map(Double.init)))
    }

    @Test func aToggleUnderCheckInsLosesNone() throws {
        let sandbox = try Sandbox()
        try sandbox.want("sqlite")
        try sandbox.run("habit", "add", "Run").expectSuccess()
        let accepted = Mutex<Int>(0)
        let problems = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 16) { number in
            do {
                if number.isMultiple(of: 4) { try sandbox.want(number.isMultiple(of: 8) ? "lmdb" : "sqlite") }
                let run = try sandbox.run("checkin", "Run")
                if run.status == 0 {
                    accepted.withLock { $0 += 1 }
                } else if !run.errors.contains("open it again") && !run.errors.contains("open the user's store again") {
                    // A process that opened the store before a switch is refused with a message; nothing else may fail.
                    problems.withLock { $0.append(run.errors) }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 } == [])
        #expect(accepted.withLock { $0 } > 0)
        let count = try sandbox.run("query", "Entry", "--count").output
        #expect(count == "\(accepted.withLock { $0 })\n")
    }
}
