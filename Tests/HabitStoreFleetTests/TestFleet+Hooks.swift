import Foundation
import HabitStoreRollout

@testable import HabitStoreFleet

/// A hook program that records its messages.
struct RecordingHook {
    struct Message {
        let event: String
        let delivery: String
        let json: [String: Any]
    }

    let path: String
    private let record: String
    private let answerFile: String

    /// - Parameters:
    ///   - folder: an existing folder.
    ///   - answer: shell commands that decide how the program ends.
    init(_ folder: String, answer: String = "exit 0") throws {
        (path, record, answerFile) = (folder + "/pager", folder + "/pager.received", folder + "/pager.answer")
        try Data(
            """
            #!/bin/sh
            body=$(cat)
            printf '%s\\t%s\\t%s\\n' "$HABITSTORE_EVENT" "$HABITSTORE_DELIVERY" "$body" >>'\(record)'
            . '\(answerFile)'

            """.utf8
        ).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o755)
        try self.answer(answer)
    }

    func answer(_ commands: String) throws {
        try Data(commands.utf8).write(to: URL(fileURLWithPath: answerFile), options: .atomic)
    }

    /// The messages received, in order.
    var messages: [Message] {
        let text = (try? String(contentsOfFile: record, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            let json = try? JSONSerialization.jsonObject(with: Data(parts[2].utf8)) as? [String: Any]
            return Message(event: parts[0], delivery: parts[1], json: json ?? [:])
        }
    }

    /// The numbers of the ledger lines received.
    var sequences: [Int] { messages.compactMap { $0.json["sequence"] as? Int } }
}

extension TestFleet {
    func hook(answer: String = "exit 0") throws -> RecordingHook {
        try RecordingHook(user.folder.path("."), answer: answer)
    }

    /// Draws a plan of two waves with a hook.
    ///
    /// - Parameter more: further fields of the hook.
    @discardableResult
    func drawHooked(_ hook: RecordingHook, _ more: String = "") throws -> FleetMembers {
        let hook = #"{"name": "pager", "program": "\#(hook.path)"\#(more)}"#
        return try draw(
            Self.twoWaves.replacing(#""ioPressure": null"#, with: #""ioPressure": null, "hooks": [\#(hook)]"#)
        )
    }

    /// Runs the fleet, with its hooks.
    @discardableResult
    func runHooked(isTold: @escaping (String) -> Void = { _ in }) throws -> FleetEnd {
        try fleet.run(stores(), by: "a test", pressure: { nil }, tell: isTold)
    }
}

/// A zombie is not running: it may not have been reaped yet.
func isRunning(_ id: Int32) throws -> Bool {
    guard kill(id, 0) == 0 else { return false }
    #if os(Linux)
    let status = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
    return status.split(separator: ")").last?.hasPrefix(" Z") != true
    #else
    return true
    #endif
}
