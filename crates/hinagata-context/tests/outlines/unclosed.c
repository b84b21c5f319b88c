#include <stdio.h>

int burn(int hours)
{
    if (hours > 3) {
        printf("long\n");
    return hours * 7;
}

int weigh(int oil)
{
    int wick = 3;
    return oil + wick;
}

int carry(int places)
{
    return places * 2;
}

int main(void)
{
    return burn(1);
}
