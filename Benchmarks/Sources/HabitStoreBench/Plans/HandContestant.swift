import CYardstick

/// The yardstick: the same queries hand-written in C, on the same files.
final class HandContestant: PlanContestant {
    private let close: () -> Void
    private let ask: (PlanQuestion, inout cy_answer) -> Int32
    private var found = cy_answer()

    private init(
        ask: @escaping (PlanQuestion, inout cy_answer) -> Int32,
        close: @escaping () -> Void
    ) {
        self.ask = ask
        self.close = close
    }

    static func sqlite(_ path: String) throws -> HandContestant {
        var handle: OpaquePointer?
        try check(cy_sqlite_plans_open(path, PlanQuestion.regex, &handle))
        return HandContestant(
            ask: { question, answer in
                withUnsafePointer(to: question.byHand) { cy_sqlite_plans_answer(handle, $0, &answer) }
            },
            close: { cy_sqlite_plans_close(handle) }
        )
    }

    static func lmdb(_ path: String) throws -> HandContestant {
        var handle: OpaquePointer?
        try check(cy_lmdb_plans_open(path, PlanQuestion.regex, &handle))
        return HandContestant(
            ask: { question, answer in
                withUnsafePointer(to: question.byHand) { cy_lmdb_plans_answer(handle, $0, &answer) }
            },
            close: { cy_lmdb_plans_close(handle) }
        )
    }

    deinit {
        cy_answer_free(&found)
        close()
    }

    func answer(_ question: PlanQuestion) throws -> UInt64 {
        try Self.check(ask(question, &found))
        return cy_answer_checksum(&found)
    }

    private static func check(_ result: Int32) throws {
        guard result == 0 else { throw BenchError("the yardstick failed with code \(result)") }
    }
}
