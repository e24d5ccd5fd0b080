import Dispatch
import Foundation

/// Does the same work for many users, several at the same time. One user's failure does not affect others.
struct UserWork {
    /// The number of users at the same time.
    let jobs: Int
    /// Stores wait for disks and locks, and Swift's task threads must not.
    private let queue = DispatchQueue(label: "habitstore.users", attributes: .concurrent)

    init(jobs: Int) { self.jobs = max(1, jobs) }

    /// Runs the work for all users.
    ///
    /// - Parameter progress: receives how many users are done.
    /// - Returns: the results in the order of the users.
    func run<R: Sendable>(
        _ users: [String],
        _ work: @escaping @Sendable (String) throws -> R,
        progress: (Int) -> Void
    ) async -> [UserResult<R>] {
        var results: [Int: UserResult<R>] = [:]
        progress(0)
        await withTaskGroup(of: (Int, UserResult<R>).self) { group in
            var waiting = users.enumerated().makeIterator()
            func begin() {
                guard let (index, user) = waiting.next() else { return }
                group.addTask { (index, await perform(user, work)) }
            }
            for _ in 0..<jobs { begin() }
            for await (index, result) in group {
                results[index] = result
                progress(results.count)
                begin()
            }
        }
        return results.sorted { $0.key < $1.key }.map(\.value)
    }

    private func perform<R: Sendable>(
        _ user: String,
        _ work: @escaping @Sendable (String) throws -> R
    ) async -> UserResult<R> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: UserResult(user: user, result: Result { try work(user) })) }
        }
    }
}
