/// A store did not do what the contract asks.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// What was expected and what came.
    public let message: String
    /// The file of the kit in which the expectation stands.
    public let fileID: String
    /// Its line.
    public let line: Int

    /// Makes a violation.
    public init(_ message: String, fileID: String = #fileID, line: Int = #line) {
        self.message = message
        self.fileID = fileID
        self.line = line
    }

    /// The place and the message.
    public var description: String { "\(fileID):\(line): \(message)" }
}
