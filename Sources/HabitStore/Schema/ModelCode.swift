import CFaultGuard

/// Running a model's code with values that no app has given it.
enum ModelCode {
    /// Runs `body`, which reads or writes a model of made-up values. Where the model's code ends the process, as a precondition in
    /// its initializer does, a line on standard error says whose values those were and what to do; the process dies all the same.
    static func withMadeUpValues<R, E: Error>(_ model: String, _ body: () throws(E) -> R) throws(E) -> R {
        let words = """
            HabitStore: the process ended in the code of the model \(model), which was being proven with made-up values. Its \
            init(row:) has to take every value of its attributes' types, since a store may hold any: assign the properties in \
            init(row:), and check values in the initializer that the app calls.

            """
        let result = words.withCString { text -> Result<R, E> in
            let outer = habitstore_begin_dying_words(text)
            defer { habitstore_end_dying_words(outer) }
            do throws(E) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
