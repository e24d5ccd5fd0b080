import HabitStore

/// What came of a question, in a form that two stores' answers are compared in.
enum ReadAnswer: Sendable, Equatable {
    /// Rows, or the record of an identifier.
    case rows(RowDigest)
    /// A number.
    case count(Int)
    /// It failed for a reason that lies in the question, and has to fail alike everywhere.
    case failure(HabitStoreError.Code)

    /// How another answer differs from this one; nil where it does not.
    func difference(from other: ReadAnswer) -> ShadowDifference.Kind? {
        switch (self, other) {
        case _ where self == other: nil
        case (.count, .count): .count
        case (.rows(let mine), .rows(let theirs)): mine.isReordered(theirs) ? .order : .records
        default: .error
        }
    }

    /// The answer for people, without the user's values.
    var text: String {
        switch self {
        case .rows(let digest): digest.rows.counted("record")
        case .count(let number): "the count \(number)"
        case .failure(let code): "the error \(code.rawValue)"
        }
    }
}

extension HabitStoreError.Code {
    /// Whether the error lies in the question and is part of its answer; others mean that the store could not be read.
    var isPartOfTheAnswer: Bool {
        [.invalidQuery, .unknownEntity, .unknownAttribute, .evaluationFailed, .unsupported].contains(self)
    }
}
