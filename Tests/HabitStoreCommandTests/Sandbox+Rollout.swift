import Foundation
import Testing

/// Users during a rollout.
extension Sandbox {
    static let stages = ["off", "dualwrite", "shadow", "live", "rampdown", "complete"]

    /// Writes a default flag file that gives all users a stage.
    func want(stage: String) throws {
        let variants = Self.stages.map { "\"\($0)\": \"\($0)\"" }.joined(separator: ", ")
        try write(
            "data/habitstore/habit-store.flagd.json",
            """
            {"flags": {
              "habit-store-stage": {"state": "ENABLED", "variants": {\(variants)}, "defaultVariant": "\(stage)"},
              "habit-store-kill": {
                "state": "ENABLED", "variants": {"armed": false, "killed": true}, "defaultVariant": "armed"
              }
            }}
            """
        )
    }

    /// Makes the gate require few shadow reads.
    func askForLittle() throws {
        try write("data/habitstore/habit-store.policy.json", #"{"cleanShadowReads": 2}"#)
    }

    /// Moves users to a stage in the regular way; each of them has a habit.
    func bring(_ users: String..., to stage: String) throws {
        try askForLittle()
        for user in users where !FileManager.default.fileExists(atPath: folder(of: user)) {
            try run("habit", "add", "Run", "--user", user).expectSuccess()
        }
        for next in Self.stages.prefix(through: try #require(Self.stages.firstIndex(of: stage))) {
            try want(stage: next)
            for user in users {
                // Only these moves need shadow reads.
                if next == "live" || next == "rampdown" {
                    for _ in 0..<3 { try run("habit", "list", "--user", user).expectSuccess() }
                }
                let advanced = try run("rollout", "advance", "--user", user)
                #expect(advanced.status == 0, "\(user) to \(next): \(advanced.output)\(advanced.errors)")
            }
        }
    }

    /// A user's entry in `rollout status`.
    func status(of user: String = "alice") throws -> [String: Any] {
        try #require(try run("rollout", "status", "--user", user, "--format", "json").list("users").first)
    }

    func folder(of user: String) -> String {
        path("data/habitstore/users/u-" + user.utf8.map { String(format: "%02x", $0) }.joined())
    }

    /// Overwrites a store's first pages.
    func damage(_ engine: String, of user: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder(of: user) + "/store.\(engine)"))
        try file.write(contentsOf: Data(repeating: 0xA5, count: 12_288))
        try file.close()
    }
}
