import Foundation
import HabitStoreTesting
import Hashing

extension LoopbackServer.Message {
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:] }

    var event: String { json["event"] as? String ?? "" }

    /// Whether the signature is the one that the secret makes.
    func isSigned(by secret: String) -> Bool {
        guard let time = header("X-HabitStore-Timestamp") else { return false }
        let key = SymmetricKey(data: Data(secret.utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Data("\(time).".utf8) + body, using: key)
        return header("X-HabitStore-Signature") == "sha256=\(code.hexadecimal)"
    }
}
