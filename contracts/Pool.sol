// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A constant-product pool of two tokens, which it also holds for the wallets. Of each amount that is paid in, 0.3 % stays
/// in the pool as a fee. A swap reverts in one case only, slippage; it uses up all of its gas if the wallet has too little.
contract Pool {
    uint256[2] public reserves;
    /// By wallet, of both tokens.
    mapping(address => uint256[2]) public balances;

    error Slippage();

    constructor(uint256 reserve) {
        reserves = [reserve, reserve];
    }

    function mint(uint256 amount) external {
        balances[msg.sender][0] += amount;
        balances[msg.sender][1] += amount;
    }

    /// Pays in an amount of a token (0 or 1), and takes out the other one.
    function swap(uint256 token, uint256 amount, uint256 least) external {
        uint256[2] storage own = balances[msg.sender];
        unchecked {
            if (token > 1 || own[token] < amount) assembly { invalid() }
            uint256 other = 1 - token;
            uint256 paid = amount * 997;
            (uint256 reserveIn, uint256 reserveOut) = (reserves[token], reserves[other]);
            uint256 taken = (paid * reserveOut) / (reserveIn * 1000 + paid);
            if (taken < least) revert Slippage();
            own[token] -= amount;
            own[other] += taken;
            reserves[token] = reserveIn + amount;
            reserves[other] = reserveOut - taken;
        }
    }
}
