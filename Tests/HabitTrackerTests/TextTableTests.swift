import Foundation
import HabitStoreOperator
import HabitStoreTesting
import Testing

/// ``TextTable``.
@Suite
struct TextTableTests {
    @Test func columnsAreAlignedByWidth() {
        var table = TextTable([.init("Habit"), .init("Streak", alignment: .right), .init("Note")])
        table.append(["走る 🏃🏽‍♀️", "12", "in the\nrain"])
        table.append(["Läufe", "3", ""])
        table.append(["שלום", "100", "\u{1B}[31mred"])
        #expect(
            table.lines() == [
                "Habit    Streak  Note",
                "走る 🏃🏽‍♀️      12  in the\\nrain",
                "Läufe         3",
                "שלום        100  \\u{1B}[31mred",
            ]
        )
        #expect(table.text() == table.lines().map { $0 + "\n" }.joined())
    }

    @Test func theWidestColumnsGiveWayFirst() {
        var table = TextTable([.init("Id", canShrink: false), .init("Name"), .init("Note")])
        table.append(["0123456789", "Run", "a very long note about the weather"])
        #expect(
            table.lines(TerminalOptions(columns: 30)) == [
                "Id          Name  Note",
                "0123456789  Run   a very long…",
            ]
        )
        #expect(
            table.lines(TerminalOptions(columns: 30, isASCII: true)) == [
                "Id          Name  Note",
                "0123456789  Run   a very lo...",
            ]
        )
        // Columns that may not shrink are cut with their line.
        #expect(table.lines(TerminalOptions(columns: 8)).last == "0123456…")
    }

    @Test func aColumnIsNoWiderThanItsMaximum() {
        var table = TextTable([.init("", maximumWidth: 4), .init("")])
        table.append(["abcdefgh", "x"])
        table.append(["走る走る", "y"])
        table.append(["ab", "z"])
        #expect(table.lines() == ["abc…  x", "走…   y", "ab    z"])
    }

    @Test func missingCellsAreEmptyAndFurtherCellsAreShown() {
        var table = TextTable([.init("A"), .init("B")])
        table.append(["1"])
        table.append(["1", "2", "3"])
        table.append([])
        #expect(table.lines() == ["A  B", "1", "1  2  3", ""])
        #expect(TextTable([]).lines().isEmpty)
        #expect(TextTable([.init("A")]).lines() == ["A"])
    }

    @Test func noCellMovesAnotherOrDrivesTheTerminal() throws {
        let seed = SeededGenerator.printedSeed(#function, environment: ProcessInfo.processInfo.environment)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var table = TextTable([
                .init(""), .init("", maximumWidth: Int.random(in: 1...30, using: &generator)), .init(""),
            ])
            let rows = Int.random(in: 1...6, using: &generator)
            for _ in 0..<rows {
                let cells = (0..<2).map { _ in
                    RandomText.text(pieces: Int.random(in: 0...8, using: &generator), using: &generator)
                }
                table.append([cells[0], "<" + cells[1], "|"])
            }
            let lines = table.lines()
            #expect(lines.count == rows)
            var starts: Set<[Int]> = []
            for line in lines {
                #expect(!RandomText.hasControls(line))
                let first = try #require(line.firstIndex { $0 == "<" || $0 == "…" || $0.unicodeScalars.first == "<" })
                #expect(line.last == "|")
                starts.insert([displayWidth(of: String(line[..<first])), displayWidth(of: line)])
            }
            #expect(starts.count == 1, "\(lines)")
            for columns in [1, 2, 5, 13, 40] {
                for line in table.lines(TerminalOptions(columns: columns, isASCII: Bool.random(using: &generator))) {
                    #expect(displayWidth(of: line) <= columns, "\(line)")
                }
            }
        }
    }
}
