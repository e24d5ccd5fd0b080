import Foundation
import HabitStore
import Testing

@testable import ShadowVerifier

/// Two stores that agree with each other but not with the recorded expectations do not pass.
struct ExpectationTests {
    private static let query = QueryFile.Query(name: "heroes", entity: "Habit", filter: "streak >= 7")

    private static func expectations() -> Expectations {
        Expectations(
            description: "two habits",
            token: 1,
            counts: ["Habit": 2, "Entry": 10, "Tag": 1, "Draft": 1],
            anomalies: [:],
            queries: ["heroes": .init(count: 1, identifiers: [StorePair.id(2)])]
        )
    }

    private func verify(_ change: (inout Expectations) -> Void) throws -> VerificationReport {
        var expectations = Self.expectations()
        change(&expectations)
        return try StorePair().verify {
            $0.queries = [Self.query]
            $0.expectations = expectations
        }
    }

    @Test func storesAsExpectedMatch() throws {
        #expect(try verify { _ in }.verdict == .match)
    }

    @Test func anotherCountIsUnexpected() throws {
        let report = try verify { $0.counts["Entry"] = 11 }
        #expect(report.verdict == .mismatch)
        #expect(report.differences.map(\.kind) == [.unexpected])
        #expect(report.differences.first?.entity == "Entry")
    }

    @Test func anotherTokenIsUnexpected() throws {
        #expect(try verify { $0.token = 2 }.differences.map(\.kind) == [.unexpected])
    }

    @Test func anomaliesThatAreExpectedAndMissingAreUnexpected() throws {
        #expect(try verify { $0.anomalies = ["danglingReference": 3] }.differences.map(\.kind) == [.unexpected])
    }

    @Test func anotherQueryResultIsUnexpected() throws {
        let report = try verify { $0.queries["heroes"] = .init(count: 1, identifiers: [StorePair.id(3)]) }
        #expect(report.differences.map(\.kind) == [.unexpected])
        #expect(report.queries.map(\.matches) == [false])
    }

    @Test func aQueryWithoutAnExpectedResultIsUnexpected() throws {
        #expect(try verify { $0.queries = [:] }.differences.map(\.kind) == [.unexpected])
    }
}
