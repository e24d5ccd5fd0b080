/// A store violated the contract.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// The expectation and the finding.
    public let message: String
    /// The kit's file that contains the failed expectation.
    public let fileID: String
    /// The line of the failed expectation.
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
