import Foundation
import HabitTracker
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreTesting

@Suite("The text form of filters")
struct FilterTextTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func whatIsPrintedIsReadBack(_ seed: UInt64) throws {
        var random = FuzzGenerator(FuzzProfile(try .habits(seed: seed)), seed: seed)
        for _ in 0..<1_000 {
            let filter = random.filter(entity: random.random.int(0...3))
            let text = filter.description
            #expect(try FilterExpression(text: text) == filter, "seed \(seed): \(text)")
            let json = try JSONEncoder().encode(filter)
            #expect(try JSONDecoder().decode(FilterExpression.self, from: json) == filter, "seed \(seed): \(text)")
        }
    }

    @Test func constantsOfEveryKindAreReadBack() throws {
        let values: [Value] = [
            .null, .bool(true), .bool(false), .int(.min), .int(.max), .double(0.1), .double(1e-300),
            .double(.leastNonzeroMagnitude),
            .double(3),
            .double(1e16), .string("\"\\\n\r\t\0'`\u{7f}"), .string("\u{301}x"), .string("x\u{600}"),
            .string("\u{1f3fd}"),
            .date(Date(timeIntervalSinceReferenceDate: -0.1)), .uuid(UUID()), .data(Data([0, 255])), .data(Data()),
            .strings([]), .strings(["", "\""]), .links([]), try Value.links([UUID(), UUID()]).normalized(),
        ]
        for value in values {
            let filter = FilterExpression.compare(.equal, .literal(value), .literal(value))
            #expect(try FilterExpression(text: filter.description) == filter, "\(filter)")
        }
    }

    @Test func namesThatAreWordsOfTheLanguageAreQuoted() throws {
        for name in [
            "and", "count", "IN", "nil", "date", "uuid", "two words", "1st", "\u{fc}ber", "x-y", "", "e\u{301}",
        ] {
            let filter = FilterExpression.compare(
                .equal,
                .attribute(AttributePath(name, of: RecordPath(hops: ["all"]))),
                .attribute(AttributePath(name))
            )
            #expect(try FilterExpression(text: filter.description) == filter, "\(filter)")
        }
    }

    @Test func variablesOfOuterCollectionsArePrintedWithTheirNumber() throws {
        let inner = FilterExpression.compare(
            .equal,
            .attribute(AttributePath("streak", of: RecordPath(variable: 2))),
            .attribute(AttributePath("streak"))
        )
        let filter = FilterExpression.some(
            CollectionPath("tags"),
            variable: 1,
            .every(CollectionPath("habits", of: RecordPath(variable: 1)), variable: 2, inner)
        )
        #expect(filter.description == "ANY tags { ALL habits { streak == $0.streak } }")
        #expect(try FilterExpression(text: filter.description) == filter)
        let existing = FilterExpression.exists(RecordPath())
        #expect(try FilterExpression(text: existing.description) == existing)
    }

    @Test(arguments: [
        ("streak -1 > 2", "(streak - 1) > 2"), ("streak - -1 > 2", "(streak - -1) > 2"), ("streak>-1", "streak > -1"),
        ("a && b || !c", "(a AND b) OR NOT c"), ("a = 1 and not b", "a == 1 AND NOT b"),
        ("x BETWEEN 1 AND 2", "x >= 1 AND x <= 2"), ("x IN (1, 2)", "x IN [1, 2]"), ("x IN {}", "x IN []"),
        ("1 + 2 * 3 == x", "(1 + (2 * 3)) == x"), ("name contains[CD] 'x'", "name CONTAINS[cd] \"x\""), ("", "true"),
    ])
    func textIsReadAsItIsMeant(_ text: String, _ meaning: String) throws {
        #expect(try FilterExpression(text: text).description == meaning)
    }

    /// A filter comes from a user's command line or file: it must not be able to crash the process.
    @Test func deepAndLongTextsAreRefusedOnASmallStack() throws {
        let texts = [
            String(repeating: "(", count: 30_000), String(repeating: "NOT ", count: 10_000) + "a",
            "a" + String(repeating: " + 1", count: 10_000), String(repeating: "IF(", count: 10_000),
            String(repeating: "ANY a { ", count: 5_000), String(repeating: "a", count: 70_000),
            "ANY entries $9223372036854775807 { ANY tags { name == \"x\" } }", "$99999999999999999999.a",
        ]
        for text in texts {
            let error = #expect(throws: HabitStoreError.self) { try FilterExpression(text: text) }
            #expect(error?.code == .invalidQuery || error?.code == .limitExceeded)
        }
        let deepest =
            String(repeating: "(", count: 60) + "a" + String(repeating: " + 1", count: 60)
            + String(repeating: ")", count: 60) + " > 0"
        let wasRead = try onSmallStack {
            let filter = try FilterExpression(text: deepest.replacingOccurrences(of: "a", with: "streak"))
            _ = try filter.bound(to: HabitSchema.current, entity: 0)
            return filter.description.count
        }
        #expect(wasRead > 100)
    }

    /// For `habit == 3` the error was "Entry has no attribute or relationship of this name; it has …, habit".
    @Test func aNameOfAnotherSortIsNotSaidToBeMissing() throws {
        let schema = HabitSchema.current
        for (text, reason) in [
            ("value.unit == 1", "Entry.value is an attribute"),
            ("ANY value { note == nil }", "Entry.value is an attribute"),
            ("habit == 3", "Entry.habit leads to a record"), ("LENGTH(habit) > 1", "Entry.habit leads to a record"),
            ("habit.tags == \"x\"", "Habit.tags leads to many records"),
            ("ANY habit { name == \"x\" }", "Entry.habit leads to one record"),
        ] {
            let filter = try FilterExpression(text: text)
            let error = #expect(throws: HabitStoreError.self) {
                try filter.bound(to: schema, entity: schema.position(ofEntity: "Entry"))
            }
            #expect(error?.code == .invalidQuery, "\(text)")
            #expect(error?.message.hasPrefix(reason) == true, "\(text): \(error?.message ?? "")")
        }
        let sorted = RecordQuery(entity: "Entry", sort: [.init("habit")])
        #expect(#expect(throws: HabitStoreError.self) { try sorted.bound(to: schema) }?.code == .invalidQuery)
        let unknown = try FilterExpression(text: "habits == nil")
        let error = #expect(throws: HabitStoreError.self) {
            try unknown.bound(to: schema, entity: schema.position(ofEntity: "Entry"))
        }
        #expect(error?.code == .unknownAttribute)
    }

    private func onSmallStack<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
        let result = ResultBox<R>()
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            result.value.withLock { $0 = Result { try body() } }
            done.signal()
        }
        thread.stackSize = 512 * 1_024
        thread.start()
        done.wait()
        return try #require(result.value.withLock { $0 }).get()
    }
}

private final class ResultBox<R: Sendable>: Sendable {
    let value = Mutex<Result<R, any Error>?>(nil)
}
