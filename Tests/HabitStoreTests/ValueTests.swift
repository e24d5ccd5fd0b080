import Foundation
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

@Suite("Values")
struct ValueTests {
    @Test func jsonKeepsKindAndEveryBit() throws {
        let values: [Value] = [
            .null, .bool(true), .int(.min), .int(.max), .int(9_007_199_254_740_993), .double(0.1),
            .double(.leastNonzeroMagnitude),
            .double(.greatestFiniteMagnitude), .double(1), .string("a\0\u{e9}\u{1f600}\"\\"), .string(""),
            .uuid(UUID()),
            .date(Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)), .data(Data([0, 1, 255])), .data(Data()),
            .strings(["", "x"]), .strings([]), .links([UUID()]), .links([]),
        ]
        #expect(try JSONDecoder().decode([Value].self, from: JSONEncoder().encode(values)) == values)
        for value in values {
            #expect(try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value)) == value)
        }
        let change = HistoryChange(
            entity: "Tag",
            id: UUID(),
            kind: .delete(tombstone: ["name": .string("x"), "b": .null])
        )
        #expect(try JSONDecoder().decode(HistoryChange.self, from: JSONEncoder().encode(change)) == change)
    }

    @Test(arguments: ["{}", "{\"int\":1,\"bool\":true}", "{\"nothing\":1}", "7", "{\"uuid\":\"x\"}", "{\"int\":1.5}"])
    func jsonThatIsNoValueIsAnError(_ json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Value.self, from: Data(json.utf8)) }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func theOrderIsTotalAndTextGoesByItsBytes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let texts = (0..<60).map { _ in EdgeValues.text(&generator).normalizedToNFC() }
        for first in texts {
            for second in texts {
                let order = first.orderByBytes(comparedWith: second)
                #expect((order < 0) == first.utf8.lexicographicallyPrecedes(second.utf8), "seed \(seed)")
                #expect((order == 0) == (Array(first.utf8) == Array(second.utf8)), "seed \(seed)")
                #expect(order.signum() == -second.orderByBytes(comparedWith: first).signum(), "seed \(seed)")
                // Between texts in NFC, Swift's own order is the same: lowered comparisons rely on it.
                #expect(
                    (order < 0) == (first < second),
                    "seed \(seed): \(first.debugDescription) \(second.debugDescription)"
                )
            }
        }
        let ranked: [Value] = [
            .null, .bool(false), .bool(true), .int(.min), .int(0), .double(-1), .double(0.5), .string(""), .string("a"),
            .strings([]), .strings(["a"]), .strings(["a", ""]), .strings(["b"]), .links([]),
        ]
        for (left, first) in ranked.enumerated() {
            for (right, second) in ranked.enumerated() {
                #expect(first.order(comparedWith: second).signum() == (left - right).signum(), "\(first) \(second)")
            }
        }
    }

    @Test(arguments: [
        ("e\u{301}", "\u{e9}"), ("\u{212b}", "\u{c5}"), ("\u{1e9b}\u{323}", "\u{1e9b}\u{323}"),
        ("o\u{302}\u{323}", "\u{1ed9}"),
        ("\u{1100}\u{1161}\u{11a8}", "\u{ac01}"), ("\u{2126}", "\u{3a9}"), ("\u{fb01}", "\u{fb01}"),
        ("a\0e\u{301}", "a\0\u{e9}"),
        ("\u{958}", "\u{915}\u{93c}"), ("\u{344}", "\u{308}\u{301}"), ("q\u{307}\u{323}", "q\u{323}\u{307}"), ("", ""),
        ("\u{2f800}", "\u{4e3d}"), ("\u{1d15e}", "\u{1d157}\u{1d165}"),
    ])
    func textIsBroughtIntoNFC(_ text: String, _ expected: String) {
        #expect(Array(text.normalizedToNFC().unicodeScalars) == Array(expected.unicodeScalars))
        #expect(text.isInNFC == (Array(text.unicodeScalars) == Array(expected.unicodeScalars)))
        #expect(expected.isInNFC)
    }

    @Test func everyScalarIsEqualToItsNormalFormAndStaysThere() {
        for code in UInt32(0)...0x2_FFFF {
            guard let scalar = Unicode.Scalar(code) else { continue }
            let text = String(Character(scalar))
            let normal = text.normalizedToNFC()
            if normal != text || !normal.isInNFC { Issue.record("U+\(String(code, radix: 16))") }
        }
    }

    @Test func numbersWithoutAnOrderAreRefused() throws {
        for number in [Double.nan, .infinity, -.infinity, .signalingNaN] {
            #expect(throws: HabitStoreError.self) { try Value.double(number).normalized() }
            #expect(throws: HabitStoreError.self) {
                try Value.date(Date(timeIntervalSinceReferenceDate: number)).normalized()
            }
        }
        #expect(try Value.double(-0.0).normalized() == .double(0))
        guard case .double(let zero) = try Value.double(-0.0).normalized() else { return }
        #expect(zero.sign == .plus)
    }

    @Test(
        arguments: [
            ("2001-01-01", 0), ("2001-01-01T00:00:00Z", 0), ("2026-01-31T08:30:00Z", 791_541_000),
            ("2026-01-31T08:30:00.25+02:00", 791_533_800.25), ("1969-12-31T23:59:59Z", -978_307_201),
            ("2024-02-29", 730_857_600), ("0001-01-01", -63_113_904_000), ("9999-12-31", 252_423_907_200),
            ("2000-03-01T00:00:00-0130", -26_433_000),
        ] as [(String, Double)]
    )
    func datesAreReadToTheSecond(_ text: String, _ seconds: Double) throws {
        #expect(TextDate.parse(text)?.timeIntervalSinceReferenceDate == seconds)
    }

    @Test(arguments: [
        "", "2026", "2026-1-3", "2026-02-29", "2100-02-29", "2026-04-31", "2026-13-01", "2026-00-01", "2026-01-00",
        "0000-01-01", "2026-01-31T", "2026-01-31Tx", "2026-01-31 08:30", "2026-01-31T08:30:00", "2026-01-31T08:30Z",
        "2026-01-31T24:00:00Z", "2026-01-31T08:60:00Z", "2026-01-31T08:30:00.Z", "2026-01-31T08:30:00Zx", " 2026-01-31",
        "2026-01-31T08:30:00+2:00", "\u{662}\u{660}26-01-31",
    ])
    func whatIsNoDateIsNotReadAsOne(_ text: String) { #expect(TextDate.parse(text) == nil) }
}
