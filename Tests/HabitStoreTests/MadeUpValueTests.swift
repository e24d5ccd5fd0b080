import Foundation
import HabitStore
import HabitTracker
import Testing

/// An app had a precondition in its model's only initializer, which `init(row:)` called. The process crashed at the first opening with the app's
/// message and an unfamiliar value, and nothing said where the value came from.
@Suite("Models that are proven with made-up values")
struct MadeUpValueTests {
    @Test func aDeathInAModelsCodeSaysWhoseValuesThoseWere() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try Schema([Strict.self]).validate()
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("a percentage is at least 50"), "\(said)")
        #expect(said.contains("HabitStore: the process ended in the code of the model Strict"), "\(said)")
        #expect(said.contains("assign the properties in init(row:)"), "\(said)")
    }

    /// Later crashes of the process are the app's own, and so are its signal handlers.
    @Test func nothingIsSaidBehindTheProof() async throws {
        let result = try await #require(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            try HabitSchema.current.validate()
            abort()
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(!said.contains("made-up values"), "\(said)")
    }

    /// The process dies by the same signal as without the message, through the handler that the app installed.
    @Test func theAppsOwnHandlerIsCalled() async throws {
        let result = try await #require(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
            for number in [SIGILL, SIGTRAP] { signal(number) { _ in _exit(42) } }
            try Schema([Strict.self]).validate()
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("made-up values"), "\(said)")
    }
}

private struct Strict: PersistentModel {
    var id: UUID
    var percentage: Int

    static let entity = EntityDescription(
        Strict.self,
        attributes: [.id(\Strict.id), .attribute("percentage", \Strict.percentage)]
    )

    init(id: UUID = UUID(), percentage: Int) {
        precondition(percentage >= 50, "a percentage is at least 50")
        (self.id, self.percentage) = (id, percentage)
    }

    init(row: inout AttributeReader) throws {
        self.init(id: try row.nextUUID(), percentage: try row.nextInt())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(percentage)
    }
}
