@_spi(Engines) import HabitStore
import Testing

@Suite("XXH3")
struct XXHash3Tests {
    /// The values are those of the C library xxHash 0.8 (`XXH3_64bits`), for the bytes `i * 131 + 7`, with lengths on both sides of every branch of
    /// the algorithm.
    @Test(
        arguments: [
            (0, 0x2D06_8005_38D3_94C2), (1, 0x4C5C_CA45_D0F4_811F), (3, 0x6E3E_2670_E611_06AC),
            (4, 0x5C4C_6313_3443_D03F), (7, 0x46A5_C724_D51F_E43F), (8, 0xF9FD_4DD0_B04D_78F5),
            (9, 0x7C20_DF97_12C2_6EDF), (16, 0x86AB_F6BA_CCEA_0858), (17, 0xB58B_F5DC_5022_D071),
            (31, 0x4844_2FCD_5518_B086), (32, 0xE371_2ED8_4C04_A66E), (33, 0xA4DE_E99B_093E_1F73),
            (64, 0x1291_D2D4_0423_30DD), (65, 0x97C6_BF83_217E_5EC9), (96, 0x8129_6929_FC06_3365),
            (97, 0xF145_A45B_658A_B9DD), (128, 0x10D1_7F72_C0CC_BA41), (129, 0x1648_BDC3_DB49_D1A2),
            (200, 0xC0FB_C0F4_E181_C826), (240, 0xB6CF_AF34_3FAB_81E6), (241, 0x956C_AE59_2C67_279E),
            (256, 0xB15E_5507_33C5_DFAC), (512, 0xA0E9_790E_B939_90D7), (1_024, 0x70BD_377D_9574_F4BB),
            (1_025, 0x66C4_487C_41E1_27A7), (1_088, 0xF43D_C77E_28A9_ACBC), (5_000, 0xE400_7929_540F_095C),
        ] as [(Int, UInt64)]
    )
    func hashesAsThePublishedAlgorithm(_ length: Int, _ expected: UInt64) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }
        #expect(bytes.withUnsafeBytes { XXHash3.hash($0) } == expected)
    }

    /// The values are those of `xxhsum -H2` of xxHash 0.8 (`XXH3_128bits`), for the same bytes.
    @Test(
        arguments: [
            (0, 0x99AA_06D3_0147_98D8, 0x6001_C324_468D_497F),
            (1, 0x495B_6207_3EF7_0CA4, 0x4C5C_CA45_D0F4_811F),
            (3, 0x390C_DC5B_4A89_5DD7, 0x6E3E_2670_E611_06AC),
            (4, 0xAA6E_2F27_4640_A3F4, 0x3D66_8AF6_F2A4_4D77),
            (7, 0x9C62_F060_5940_4F49, 0x1B17_4AD8_D9A8_1F6B),
            (8, 0x6A86_A3BD_A6AF_4E3D, 0x61DD_BE7F_31A6_100D),
            (9, 0x664C_7CA1_8AFD_6255, 0x8C7B_67FD_458A_936B),
            (16, 0x7F9A_218B_0425_449A, 0xE2CE_54A7_C19C_730D),
            (17, 0x66FC_23F6_439D_BD77, 0x8D96_EF11_0FCD_EBB4),
            (31, 0xD820_1BC2_FEDE_FE5C, 0xCEE4_2516_3875_B69B),
            (32, 0x49A1_1EE7_43D6_D342, 0xFD35_7CF6_CB2D_DA18),
            (33, 0x7228_D928_4A81_16F6, 0xF899_4653_F4BF_E6DA),
            (64, 0xE0FA_F20E_0E0F_E0DD, 0xBA7E_015A_54F1_4BE1),
            (65, 0x9397_DF27_B7A9_8713, 0x8532_6F40_78A6_1329),
            (96, 0xFB78_AC18_5EF5_5443, 0x8B87_20F5_65DC_F40C),
            (97, 0x9CFC_8C7D_6E78_15C8, 0xBB38_5623_E598_C6D4),
            (128, 0xAEC7_3075_1478_556C, 0xFF36_1DEC_1385_710A),
            (129, 0x98CD_36CC_BB55_7926, 0x4545_B3A0_9738_E31A),
            (200, 0x26D2_8D07_8607_28F6, 0xA477_3493_FBBE_3543),
            (240, 0x5293_E17B_F553_903D, 0x3F2C_53E7_2293_711F),
            (241, 0xB538_40FE_3FED_F161, 0x956C_AE59_2C67_279E),
            (256, 0xD0D2_829A_226D_0EDB, 0xB15E_5507_33C5_DFAC),
            (512, 0x7509_D702_D451_9576, 0xA0E9_790E_B939_90D7),
            (1_024, 0xF696_3061_3F24_324D, 0x70BD_377D_9574_F4BB),
            (1_025, 0x621A_F7B8_277E_FFA4, 0x66C4_487C_41E1_27A7),
            (1_088, 0x0B03_B0C7_BDC5_B078, 0xF43D_C77E_28A9_ACBC),
            (5_000, 0x61BE_DB62_7E4A_5FDF, 0xE400_7929_540F_095C),
        ] as [(Int, UInt64, UInt64)]
    )
    func hashesTo128BitsAsThePublishedAlgorithm(_ length: Int, _ high: UInt64, _ low: UInt64) {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }
        let hash = bytes.withUnsafeBytes { XXHash3.hash128($0) }
        #expect(hash.high == high)
        #expect(hash.low == low)
    }

    @Test func doesNotDependOnWhereTheBytesLie() {
        for length in [5, 80, 200, 700] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) }
            let expected = bytes.withUnsafeBytes { XXHash3.hash($0) }
            for shift in 1..<9 {
                let shifted = [UInt8](repeating: 0, count: shift) + bytes
                #expect(
                    shifted.withUnsafeBytes { XXHash3.hash(UnsafeRawBufferPointer(rebasing: $0[shift...])) } == expected
                )
            }
        }
    }
}
