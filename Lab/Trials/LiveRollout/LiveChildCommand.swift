import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout
import StandardEngines

/// A process that only follows a user and reports each element, until its standard input ends.
struct LiveChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live-child",
        abstract: "Follow a user together with other processes; started by live-rollout.",
        shouldDisplay: false
    )

    @Option(help: "The root of the users' stores.")
    var root: String

    @Option(help: "The flag file, which this process writes.")
    var flags: String

    @Option(help: "The engine that the flag file calls the old one.")
    var old: EngineName

    @Option(help: "The token after which to follow the history.")
    var after: Int64

    func run() throws {
        let flags = StageFlags(path: flags, old: old)
        try flags.want(.init())
        let user = try SweptUser(root: root, flags: flags, options: .tangle)
        let store = user.store
        Self.follow(.history) {
            for try await transaction in store.changes(after: HistoryToken(rawValue: after)) {
                LiveChildLine.history(transaction.token).tell()
            }
        }
        Self.follow(.answers) {
            for try await change in store.results(of: LiveChildLine.question) {
                LiveChildLine.answers(change.token, change.cause, LiveChildLine.sum(Array(change.records))).tell()
            }
        }
        Self.follow(.tokens) { for try await token in store.tokens() { LiveChildLine.tokens(token).tell() } }
        while readLine() != nil {}
        store.close()
    }

    private static func follow(_ stream: LiveChildLine.Stream, _ body: @escaping @Sendable () async throws -> Void) {
        Task {
            do {
                try await body()
            } catch {
                let code = (error as? HabitStoreError)?.code
                LiveChildLine.end(stream, code?.rawValue ?? "\(error)").tell()
            }
        }
    }
}
