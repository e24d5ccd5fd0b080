import HabitStore

/// The answer to a question, in a form in which two stores' answers can be compared.
enum ReadAnswer: Sendable, Equatable {
    /// Rows, or the record of an identifier.
    case rows(RowDigest)
    case count(Int)
    /// An error caused by the question, which every store has to report.
    case failure(HabitStoreError.Code)

    /// How another answer differs from this one; nil if it does not.
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
    /// Whether the error is caused by the question and so part of its answer; other errors mean that the store could not be read.
    var isPartOfTheAnswer: Bool {
        [.invalidQuery, .unknownEntity, .unknownAttribute, .evaluationFailed, .unsupported].contains(self)
    }
}
