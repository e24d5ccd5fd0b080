import Foundation
import Hashing
import Testing

/// The examples from the standards.
@Suite("Hashes")
struct HashingTests {
    private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    @Test(
        "SHA-256 answers what FIPS 180-4's examples say",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func sha256(text: String, digits: String) {
        #expect(hexadecimal(SHA256.hash(data: Data(text.utf8))) == digits)
    }

    @Test(
        "SHA-1 answers what FIPS 180-4's examples say",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ]
    )
    func sha1(text: String, digits: String) {
        #expect(hexadecimal(Insecure.SHA1.hash(data: Data(text.utf8))) == digits)
    }

    @Test("HMAC-SHA-256 answers what RFC 4231's test cases 2 and 6 say")
    func hmac() {
        let short = HMAC<SHA256>
            .authenticationCode(
                for: Data("what do ya want for nothing?".utf8),
                using: SymmetricKey(data: Data("Jefe".utf8))
            )
        #expect(hexadecimal(short) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = HMAC<SHA256>
            .authenticationCode(
                for: Data("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                using: SymmetricKey(data: [UInt8](repeating: 0xAA, count: 131))
            )
        #expect(hexadecimal(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("A code is valid for its text and key, and for no other")
    func validity() {
        let (key, other) = (SymmetricKey(data: Data("Jefe".utf8)), SymmetricKey(size: .bits256))
        let text = Data("what do ya want for nothing?".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: text, using: key).map { $0 }
        #expect(HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: text, using: key))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: text, using: other))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: text.dropLast(), using: key))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode(code.dropLast(), authenticating: text, using: key))
        #expect(!HMAC<SHA256>.isValidAuthenticationCode([], authenticating: text, using: key))
    }

    @Test("A text hashes the same in pieces as in one")
    func pieces() {
        let text = Array(repeating: UInt8(ascii: "a"), count: 1_000_000)
        var hash = SHA256()
        for start in stride(from: 0, to: text.count, by: 977) {
            hash.update(data: text[start..<min(start + 977, text.count)])
        }
        let digest = hash.finalize()
        #expect(hexadecimal(digest) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        #expect(digest == SHA256.hash(data: text))
        digest.withUnsafeBytes { bytes in #expect(Array(bytes) == Array(digest)) }
    }

    @Test("Two keys that are made are not the same")
    func keys() {
        let codes = (0..<2)
            .map { _ in
                HMAC<SHA256>.authenticationCode(for: Data("x".utf8), using: SymmetricKey(size: .bits256)).map { $0 }
            }
        #expect(codes[0] != codes[1])
    }
}
