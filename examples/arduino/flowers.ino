// Measures four values, and writes the name of the flower to the serial port.
#include "flowers.h"

void setup()
{
    Serial.begin(9600);
}

void loop()
{
    flowers_input row[FLOWERS_N_FEATURES];
    // Replace analogRead by your sensors: the model was trained on centimetres.
    for (int i = 0; i < FLOWERS_N_FEATURES; i++)
        row[i] = flowers_quantize(i, analogRead(i) / 100.0);
    Serial.println(flowers_output_names[flowers_predict(row)]);
    delay(1000);
}
