import Foundation
@_spi(Engines) import HabitStore

/// The same data in every store, in a temporary directory.
final class FuzzBench {
    let data: FuzzData
    private let profile: FuzzProfile
    private let oracle: FuzzOracle
    private let stores: [(name: String, store: any EngineBackedStore)]
    private let directory: URL

    /// One query in this many is written as text and JSON and read again.
    private static let roundTripDistance = 4
    /// One query in this many is explained.
    private static let explainDistance = 16

    init(_ data: FuzzData, _ subjects: [StoreUnderTest]) throws {
        self.data = data
        profile = FuzzProfile(data)
        oracle = try FuzzOracle(data)
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("query-fuzz-\(UUID().uuidString)", isDirectory: true)
        var stores: [(String, any EngineBackedStore)] = []
        for (index, subject) in subjects.enumerated() {
            let folder = directory.appendingPathComponent("\(index)", isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let store = try subject.open(folder, data.schema, UUID()) { Date() }
            stores.append((subject.name, store))
            try data.install(into: store)
        }
        self.stores = stores
    }

    /// Closes the stores and removes the directory.
    func close() {
        for (_, store) in stores { store.close() }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            FileHandle.standardError.write(Data("the directory of a fuzz run could not be removed: \(error)\n".utf8))
        }
    }

    /// Asks queries, each store in one transaction; returns the first disagreement.
    func ask(_ numbers: Range<Int>, of fuzz: QueryFuzz, _ report: inout QueryFuzzReport) throws -> FuzzFailure? {
        let questions = try oracle.run {
            try numbers.map { number in
                let query = fuzz.query(number, profile)
                if number % Self.roundTripDistance == 0 { try FuzzRoundTrip.check(query, data.schema) }
                return (number, try query.question(oracle))
            }
        }
        for (index, (name, store)) in stores.enumerated() {
            let failure: FuzzFailure? = try store.read { transaction in
                for (number, question) in questions {
                    if number % Self.explainDistance == 0 {
                        try count(question, transaction, &report.methods[name, default: .init()])
                    }
                    let answer = question.ask(transaction)
                    guard !question.expected.agrees(with: answer) else { continue }
                    return FuzzFailure(
                        number: number,
                        query: question.query,
                        subject: index,
                        expected: question.expected,
                        found: answer
                    )
                }
                return nil
            }
            if let failure { return failure }
        }
        report.queries += questions.count
        for (_, question) in questions {
            if question.query.form != .filter { report.predicates += 1 }
            switch question.expected {
            case .failure: report.failed += 1
            case .records([]), .count(0): break
            default: report.answered += 1
            }
        }
        return nil
    }

    private func count(
        _ question: any FuzzAsking,
        _ transaction: any ReadTransaction,
        _ methods: inout QueryFuzzReport.Methods
    ) throws {
        guard let method = try? question.explain(transaction).method else { return }
        switch method {
        case .native: methods.native += 1
        case .nativeAndResidual: methods.residual += 1
        case .scan: methods.scan += 1
        }
    }

    /// Foundation's answer to a query, and the stores' answers.
    func answers(_ query: FuzzQuery) throws -> (expected: FuzzAnswer, found: [FuzzAnswer]) {
        let question = try oracle.run { try query.question(oracle) }
        return (question.expected, try stores.map { _, store in try store.read { question.ask($0) } })
    }
}

/// A store's wrong answer.
struct FuzzFailure: Sendable {
    let number: Int
    let query: FuzzQuery
    let subject: Int
    let expected: FuzzAnswer
    let found: FuzzAnswer
}

/// A filter that changed when it was written and read again.
struct FuzzRoundTrip: Error, CustomStringConvertible {
    let text: String
    let form: String

    var description: String { "the filter \(text) changed when its \(form) was read" }

    static func check(_ query: FuzzQuery, _ schema: Schema) throws {
        guard query.form == .filter, let filter = query.condition.filter(schema) else { return }
        let text = filter.description
        guard try FilterExpression(text: text) == filter else { throw FuzzRoundTrip(text: text, form: "text form") }
        let json = try JSONEncoder().encode([filter])
        guard try JSONDecoder().decode([FilterExpression].self, from: json) == [filter] else {
            throw FuzzRoundTrip(text: text, form: "JSON")
        }
    }
}
