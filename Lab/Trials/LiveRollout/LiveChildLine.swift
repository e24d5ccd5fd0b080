import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

/// The output of a process that follows a user: one line for each element of a stream.
enum LiveChildLine: Equatable {
    enum Stream: String {
        case history, answers, tokens
    }

    case history(HistoryToken)
    case answers(HistoryToken, ResultsChangeCause, _ sum: UInt64)
    case tokens(HistoryToken)
    /// A stream ended with an error with this code.
    case end(Stream, String)

    /// The query of its live results.
    static let question = FetchDescriptor<Draft>(sortBy: [SortDescriptor(\.content)])

    /// A hash of an answer.
    static func sum(_ drafts: [Draft]) -> UInt64 {
        Array(drafts.map { "\($0.id) \($0.content)" }.joined(separator: "\n").utf8)
            .withUnsafeBytes { XXHash64.hash($0, seed: 0) }
    }

    private var text: String {
        switch self {
        case .history(let token): "\(Stream.history.rawValue) \(token)"
        case .answers(let token, let cause, let sum): "\(Stream.answers.rawValue) \(token) \(cause.rawValue) \(sum)"
        case .tokens(let token): "\(Stream.tokens.rawValue) \(token)"
        case .end(let stream, let code): "end \(stream.rawValue) \(code)"
        }
    }

    init?(_ text: some StringProtocol) {
        let words = text.split(separator: Character(" ")).map { String($0) }
        func token() -> HistoryToken? {
            words.count > 1 ? Int64(words[1]).map { HistoryToken(rawValue: $0) } : nil
        }
        if words.count == 3, words[0] == "end", let stream = Stream(rawValue: words[1]) {
            self = .end(stream, words[2])
            return
        }
        guard let stream = words.first.flatMap(Stream.init(rawValue:)), let token = token() else { return nil }
        switch stream {
        case .history: self = .history(token)
        case .tokens: self = .tokens(token)
        case .answers:
            guard words.count == 4, let cause = ResultsChangeCause(rawValue: words[2]), let sum = UInt64(words[3])
            else {
                return nil
            }
            self = .answers(token, cause, sum)
        }
    }

    /// Writes the line in one call. If the parent is gone, no process reads it.
    func tell() {
        let line = Array("\(text)\n".utf8)
        _ = line.withUnsafeBytes { Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
