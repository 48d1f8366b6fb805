// SPDX-License-Identifier: MIT
pragma solidity >=0.8.4;

/// A pair with constant product and a fee of 0.3 %, as that of Uniswap v2. It keeps the balances of both tokens itself.
contract Pair {
    uint112 public reserve0;
    uint112 public reserve1;
    mapping(address => uint256) public balance0;
    mapping(address => uint256) public balance1;
    mapping(address => uint256) public shares;

    event Mint(address indexed sender, uint256 amount0, uint256 amount1);
    event Swap(address indexed sender, uint256 amountIn, uint256 amountOut, bool isBuy);
    event Sync(uint112 reserve0, uint112 reserve1);

    error InsufficientOutput(uint256 amountOut, uint256 least);

    constructor(uint112 reserves) {
        reserve0 = reserves;
        reserve1 = reserves;
    }

    /// Before the load: each wallet has tokens of both kinds.
    function deposit(uint256 amount) external {
        balance0[msg.sender] += amount;
        balance1[msg.sender] += amount;
    }

    function swap(uint112 amountIn, bool isBuy, uint256 least) external returns (uint256 amountOut) {
        (uint256 reserveIn, uint256 reserveOut) = isBuy ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 paid = uint256(amountIn) * 997;
        amountOut = (paid * reserveOut) / (reserveIn * 1000 + paid);
        if (amountOut < least) revert InsufficientOutput(amountOut, least);
        if (isBuy) {
            balance0[msg.sender] -= amountIn;
            balance1[msg.sender] += amountOut;
            update(reserveIn + amountIn, reserveOut - amountOut);
        } else {
            balance1[msg.sender] -= amountIn;
            balance0[msg.sender] += amountOut;
            update(reserveOut - amountOut, reserveIn + amountIn);
        }
        emit Swap(msg.sender, amountIn, amountOut, isBuy);
    }

    /// Provides both tokens in the ratio of the reserves.
    function mint(uint256 amount0) external {
        uint256 amount1 = (amount0 * reserve1) / reserve0;
        balance0[msg.sender] -= amount0;
        balance1[msg.sender] -= amount1;
        shares[msg.sender] += amount0;
        update(reserve0 + amount0, reserve1 + amount1);
        emit Mint(msg.sender, amount0, amount1);
    }

    function update(uint256 now0, uint256 now1) private {
        (reserve0, reserve1) = (uint112(now0), uint112(now1));
        emit Sync(reserve0, reserve1);
    }
}
