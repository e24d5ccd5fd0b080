import ArgumentParser
import Foundation
import HabitStore

/// For commands whose answer can be followed.
struct WatchOptions: ParsableArguments {
    @Flag(help: "Show it anew whenever something was written, until the command is stopped.")
    var watch = false

    /// Shows an answer, and where that is asked for again after each change of the store: in a terminal in place of the one before.
    func show(_ store: any HabitStore, _ body: () throws -> Void) async throws {
        guard watch else { return try body() }
        for try await _ in store.tokens() {
            if Terminal.isTerminal(STDOUT_FILENO) { try Output.write(Terminal.home) }
            try body()
        }
    }
}
