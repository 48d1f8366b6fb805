// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Pays many wallets in one transaction. The work is done by the constructor, so a payment leaves no
/// contract behind that would have to be found, trusted or kept. The amounts must add up to the value.
contract Disperse {
    error PaymentFailed(address to);
    error SumMismatch();

    constructor(address payable[] memory to, uint256[] memory amounts) payable {
        for (uint256 i = 0; i < to.length; ++i) {
            (bool paid, ) = to[i].call{value: amounts[i]}("");
            if (!paid) revert PaymentFailed(to[i]);
        }
        if (address(this).balance != 0) revert SumMismatch();
    }
}
