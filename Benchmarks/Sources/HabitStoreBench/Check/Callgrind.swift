import Foundation

/// Counts the instructions of each work with valgrind's callgrind, which runs this program again.
struct Callgrind {
    /// The argument with which the program does all of the work once, each work inside `cy_measured`.
    static let childArgument = "check-child"

    private let directory: URL

    init(_ directory: URL) { self.directory = directory }

    /// The instructions inside each call of `cy_measured`, in order.
    func instructions() throws -> [Int] {
        let program = directory.appendingPathComponent("without-debug-information").path
        let output = directory.appendingPathComponent("callgrind").path
        // Valgrind up to 3.19 fails on Swift's debug information.
        try run(["strip", "--strip-debug", "-o", program, CommandLine.arguments[0]], package: "binutils")
        try run(
            [
                "valgrind", "--tool=callgrind", "--toggle-collect=cy_measured", "--dump-after=cy_measured",
                "--callgrind-out-file=\(output)", "-q", program, Self.childArgument,
            ],
            package: "valgrind"
        )
        var counts: [Int] = []
        while let text = try? String(contentsOfFile: "\(output).\(counts.count + 1)", encoding: .utf8) {
            counts.append(try Self.total(text))
        }
        return counts
    }

    private func run(_ arguments: [String], package: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        var environment = ProcessInfo.processInfo.environment
        environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
        process.environment = environment
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchError(
                "\(arguments[0]) ended with \(process.terminationStatus); is it installed (apt-get install \(package))?"
            )
        }
    }

    /// The line `totals:` of callgrind's format, https://valgrind.org/docs/manual/cl-format.html.
    private static func total(_ text: String) throws -> Int {
        for line in text.split(separator: "\n") where line.hasPrefix("totals: ") {
            if let count = Int(line.dropFirst("totals: ".count)) { return count }
        }
        throw BenchError("callgrind wrote no totals")
    }
}
