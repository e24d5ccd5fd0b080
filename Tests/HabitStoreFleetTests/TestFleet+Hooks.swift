import Foundation
import HabitStoreHooks

@testable import HabitStoreFleet

extension TestFleet {
    static let secret = "a secret that nobody knows"

    /// The fleet with what sends the requests of hooks.
    var hooked: Fleet { Fleet(root: root, transport: URLSessionTransport()) }

    /// The path of a hook's secret, for its owner only.
    func secretFile() throws -> String {
        let path = user.folder.path("secret")
        try Data("\(Self.secret)\n".utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        return path
    }

    /// Draws a plan of two waves with a hook.
    ///
    /// - Parameter more: further fields of the hook.
    @discardableResult
    func drawHooked(_ port: UInt16, _ more: String = "") throws -> FleetMembers {
        let hook =
            #"{"name": "pager", "url": "http://127.0.0.1:\#(port)/hook?token=hidden", "secretFile": "\#(try secretFile())"\#(more)}"#
        return try draw(
            Self.twoWaves.replacing(#""ioPressure": null"#, with: #""ioPressure": null, "hooks": [\#(hook)]"#)
        )
    }

    /// Runs the fleet, and tells its hooks.
    @discardableResult
    func runHooked(isTold: @escaping (String) -> Void = { _ in }) throws -> FleetEnd {
        try hooked.run(stores(), by: "a test", pressure: { nil }, tell: isTold)
    }
}
