import Foundation
import Testing
import Trials

/// The traffic checker finds results that do not fit one order.
struct TrafficCheckTests {
    private func violations(_ lines: String...) throws -> [String] {
        try TrafficCheck(lines.map { try #require(TrafficLine(parsing: $0 + " " + UUID().uuidString)) }).violations
    }

    @Test func anOrderThatAgreesWithTimeIsFine() throws {
        let found = try violations(
            "write 0 10 1 ok",
            "read 5 8 1 ok",
            "read 6 9 0 ok",
            "write 11 30 2 ok",
            "write 12 20 3 ok",
            "read 31 40 3 ok",
            "write 41 50 4 outcomeUnknown",
            "read 51 60 4 ok",
            "write 61 70 5 full",
            "write 71 80 5 ok"
        )
        #expect(found == [])
    }

    @Test func twoWritesOfOneNumberAreFound() throws {
        #expect(try violations("write 0 10 1 ok", "write 5 15 1 ok").count == 1)
    }

    @Test func aWriteThatWasLostAndCountedAgainIsFound() throws {
        #expect(try violations("write 0 10 2 ok", "write 11 20 2 ok").count == 2)
    }

    @Test func aReadThatIsOlderThanWhatWasAcknowledgedIsFound() throws {
        #expect(try violations("write 0 10 1 ok", "write 11 20 2 ok", "read 21 30 1 ok").count == 1)
    }

    @Test func aReadThatIsOlderThanAReadBeforeIsFound() throws {
        #expect(try violations("write 0 10 1 ok", "write 0 50 2 ok", "read 11 20 2 ok", "read 21 30 1 ok").count == 1)
    }

    @Test func aReadOfAWriteThatFailedIsFound() throws {
        #expect(try violations("write 0 10 1 full", "read 11 20 1 ok").count == 1)
    }

    @Test func aReadOfAWriteThatHadNotBegunIsFound() throws {
        #expect(try violations("read 0 5 1 ok", "write 10 20 1 ok").count >= 1)
    }
}
