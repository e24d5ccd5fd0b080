import Foundation
import HabitStore

/// A primary and its synchronous standby, which swap roles.
final class FailoverServers {
    private let script: String
    private let folder: String
    /// The connection URI with both hosts.
    let uri: String
    private(set) var leader = "primary-1"
    private(set) var follower = "standby-1"

    /// Starts the servers.
    init(script: String) throws {
        self.script = script
        // The servers' user may have no access to the temporary directory.
        folder = "/tmp/habitstore-failover-\(UUID().uuidString)"
        let assignment = try Self.run(script, ["up", folder])
        guard let uri = assignment.firstMatch(of: /HABITSTORE_POSTGRES='([^']+)'/) else {
            throw HabitStoreError(.internalInconsistency, "the script started no servers", at: .init(path: script))
        }
        self.uri = String(uri.output.1)
    }

    /// Stops the servers.
    func down() throws { try Self.run(script, ["down", folder]) }

    /// Kills a server with all its processes.
    func kill(_ node: String) throws { try Self.run(script, ["signal", folder, node, "KILL"]) }

    /// Stops a server's processes with SIGSTOP.
    func freeze(_ node: String) throws { try Self.run(script, ["signal", folder, node, "STOP"]) }

    /// Continues a server's stopped processes.
    func thaw(_ node: String) throws { try Self.run(script, ["signal", folder, node, "CONT"]) }

    /// Promotes the standby to primary, whatever the state of the old primary.
    func promote() throws {
        try Self.run(script, ["promote", folder, follower])
        (leader, follower) = (follower, leader)
    }

    /// Makes the former primary the synchronous standby.
    func rejoin() throws { try Self.run(script, ["rejoin", folder, follower, leader]) }

    /// Does not use `Process`: servers inherit the file by which it notices the script's end, so it would wait for them.
    @discardableResult
    private static func run(_ script: String, _ arguments: [String]) throws -> String {
        let words = (["/bin/sh", script] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }
        var text: [UInt8] = []
        var status: Int32 = -1
        if let output = popen(words.joined(separator: " "), "r") {
            while case let byte = getc(output), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
            status = pclose(output)
        }
        guard status == 0 else {
            throw HabitStoreError(
                .internalInconsistency,
                "the script's \(arguments.first ?? "") failed with \(status)",
                at: .init(path: script)
            )
        }
        return String(decoding: text, as: UTF8.self)
    }
}
